"""The measurements, each a function that returns a :class:`Result` or several."""

import json
import math
import os
import queue
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.bench import wire, world
from tests.bench.load import Job, Reading, Step
from tests.bench.machine import memory_mb
from tests.bench.servers import BenchError, Layout, Server, run_load
from tests.cast import Agent
from tests.live import free_port

CLIENTS: Final = 16
UP_LIMIT_SECONDS: Final = 120
# Below this share of its core, a worker waited for something else most of the time it could have worked.
LIMITING_BUSY: Final = 0.85
SIZES_MAY_DIFFER: Final = 0.01


@dataclass(frozen=True)
class Plan:
    """How much is measured, and for how long."""

    rounds: int
    round_seconds: float
    warmup_seconds: float
    single_seconds: float
    notes: int
    volume_seconds: float
    edits: int
    starts: int


@dataclass
class Result:
    """One line of the table; ``goal`` is what ``value`` must reach (``>= 0.4``) or stay within (``<= 4``).

    ``is_void`` says that the value proves nothing, because something else than what is measured was the limit.
    """

    name: str
    value: float
    unit: str
    goal: str = ""
    later: str = ""
    details: dict[str, str] = field(default_factory=dict)
    is_void: bool = False

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None where there is none, or nothing is proved."""
        if not self.goal or self.is_void:
            return None
        sign, number = self.goal.split()
        return self.value >= float(number) if sign == ">=" else self.value <= float(number)


@dataclass(frozen=True)
class Workload:
    """What both servers are asked for, by the port that they listen on."""

    name: str
    scripts: Callable[[int], list[list[Step]]]
    goal: str
    later: str


@dataclass
class Round:
    """One round of one workload on one server."""

    calls_per_second: float
    calls_per_cpu_second: float
    postgres_ms: float
    p50_ms: float
    p99_ms: float
    worker_busy: float
    others_busy: float
    generator_busy: float

    @classmethod
    def of(cls, reading: Reading) -> "Round":
        """Summarise a reading."""
        latencies = [each for step in reading.latencies_ms for each in step]
        speed = reading.calls / reading.seconds
        return cls(
            calls_per_second=speed,
            calls_per_cpu_second=speed / reading.worker_busy if reading.worker_busy else math.nan,
            postgres_ms=1_000 * reading.postgres_busy / speed if speed else math.nan,
            p50_ms=percentile(latencies, 50),
            p99_ms=percentile(latencies, 99),
            worker_busy=reading.worker_busy,
            others_busy=reading.core_busy,
            generator_busy=reading.generator_busy,
        )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that ``share`` per cent of the values do not exceed.

    Raises:
        BenchError: There are no values.
    """
    if not values:
        raise BenchError("No call was answered while it was measured.")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share / 100 * len(ordered)) - 1)]


def median_of(rounds: Sequence[Round], name: str) -> float:
    """Return the median of one value over rounds."""
    values: list[float] = [getattr(each, name) for each in rounds]
    return statistics.median(values)


class Bench:
    """The servers under measurement and what they are measured on."""

    def __init__(
        self, plan: Plan, layout: Layout, postgres_pid: int, memford: Server, floor: Server, kernel: Server
    ) -> None:
        self.plan = plan
        self._postgres_pid = postgres_pid
        self.memford = memford
        self.floor = floor
        self.kernel = kernel
        self.rounds: dict[str, dict[str, list[Round]]] = {}
        self._others_core = min(layout.others, default=0)
        self._reader = world.reader(100)
        self._writer = world.writers(1)[0]
        self._writers = world.writers(CLIENTS)

    def _load(self, server: Server, scripts: list[list[Step]], *, clients: int, seconds: float) -> Reading:
        job = Job(
            port=server.port,
            scripts=scripts,
            clients=clients,
            seconds=seconds,
            warmup_seconds=self.plan.warmup_seconds,
            worker_pid=server.worker_pid,
            postgres_pid=self._postgres_pid,
            core=self._others_core,
        )
        return run_load(job)

    def _read_script(self, port: int) -> list[Step]:
        return [wire.read_memory(port, self._reader.key, self._reader.project_id)]

    def _write_script(self, port: int, agent: Agent) -> list[Step]:
        return [wire.write_memory(port, agent.key, agent.project_id, world.note_text())]

    def check_floor(self) -> dict[str, Any]:
        """Make sure that both servers give the same answers, and return their sizes in bytes.

        Raises:
            BenchError: They differ.
        """
        sizes = {}
        scripts: dict[str, Callable[[int], list[Step]]] = {
            "read": self._read_script,
            "write": lambda port: self._write_script(port, self._writer),
        }
        for name, script in scripts.items():
            ours, floors = (_answer_to(server.port, *script(server.port)) for server in (self.memford, self.floor))
            if shape(json.loads(ours)) != shape(json.loads(floors)):
                raise BenchError(f"The floor's answer to a {name} is not Memford's:\n{ours!r}\n{floors!r}")
            if abs(len(ours) - len(floors)) > SIZES_MAY_DIFFER * len(ours):
                raise BenchError(f"The floor answers a {name} with {len(floors)} bytes, Memford with {len(ours)}.")
            if name == "read" and json.loads(ours) != json.loads(floors):
                raise BenchError("The floor reads other notes than Memford.")
            sizes[name] = {"memford": len(ours), "floor": len(floors)}
        return sizes

    def idle_memory(self) -> list[Result]:
        """Measure the worker's resident memory after a few calls."""
        port = self.memford.port
        for step in (*self._read_script(port), *self._write_script(port, self._writer)) * 5:
            _answer_to(port, step)
        pid = self.memford.worker_pid
        details = {"proportional": f"{memory_mb(pid, 'Pss'):.0f} MB"}
        return [Result("Idle worker, resident", memory_mb(pid), "MB", "<= 150", details=details)]

    def throughput(self) -> list[Result]:
        """Measure calls per second of both servers by turns, and Memford's latencies meanwhile."""
        workloads = [
            Workload("Read 100 notes", lambda port: [self._read_script(port)], ">= 0.40", ">= 0.60"),
            Workload(
                "Write, one project",
                lambda port: [self._write_script(port, self._writer)],
                ">= 0.45",
                ">= 0.60",
            ),
            Workload(
                f"Write, {CLIENTS} projects",
                lambda port: [self._write_script(port, agent) for agent in self._writers],
                ">= 0.45",
                ">= 0.60",
            ),
        ]
        for _ in range(self.plan.rounds):
            for workload in workloads:
                for name, server in (("memford", self.memford), ("floor", self.floor)):
                    self._round(workload.name, name, server, workload.scripts(server.port))
        return [line for workload in workloads for line in self._compared(workload)]

    def _round(self, workload: str, name: str, server: Server, scripts: list[list[Step]]) -> None:
        reading = self._load(server, scripts, clients=CLIENTS, seconds=self.plan.round_seconds)
        self.rounds.setdefault(workload, {}).setdefault(name, []).append(Round.of(reading))

    def _compared(self, workload: Workload) -> list[Result]:
        ours, floors = (self.rounds[workload.name][name] for name in ("memford", "floor"))
        tails = [each.p99_ms / each.p50_ms for each in ours]
        latency = {"p50": f"{median_of(ours, 'p50_ms'):.1f} ms", "p99": f"{median_of(ours, 'p99_ms'):.1f} ms"}
        name, goals = workload.name, (workload.goal, workload.later)
        return [
            *_compare(name, ours, floors, "floor", goals),
            Result(
                f"{name}: p99 / p50", statistics.median(tails), "x", "<= 4", details=latency | {"spans": _span(tails)}
            ),
        ]

    def beginning(self) -> list[Result]:
        """Measure ``initialize`` and ``tools/list`` beside the SDK's kernel alone."""
        name = "initialize + tools/list"
        for _ in range(self.plan.rounds):
            for who, server in (("memford", self.memford), ("kernel", self.kernel)):
                self._round(name, who, server, [wire.begin(server.port, self._reader.key)])
        ours, kernels = (self.rounds[name][who] for who in ("memford", "kernel"))
        return _compare(name, ours, kernels, "kernel", ("", ""))

    def alone(self) -> list[Result]:
        """Measure one client's latencies, reading and writing."""
        port = self.memford.port
        scripts = {
            "Read 100 notes, 1 client: median": self._read_script(port),
            "Write, 1 client: median": self._write_script(port, self._writer),
        }
        lines = []
        for name, script in scripts.items():
            reading = self._load(self.memford, [script], clients=1, seconds=self.plan.single_seconds)
            (latencies,) = reading.latencies_ms
            details = {"p99": f"{percentile(latencies, 99):.1f} ms", "calls": str(len(latencies))}
            lines.append(Result(name, percentile(latencies, 50), "ms", details=details))
        return lines

    def volume(self) -> list[Result]:
        """Measure what a page costs at many notes beside what it costs at a thousand."""
        small, large = 1_000, self.plan.notes
        made = world.volume(small, large)
        cases = {
            f"First page, {large:,} notes": (made.large, False, "<= 1.2"),
            f"Middle page, {large:,} notes": (made.large, True, "<= 1.5"),
            f"First page, {large:,} notes, 99% inactive": (made.sparse, False, "<= 1.2"),
            f"Middle page, {large:,} notes, 99% inactive": (made.sparse, True, "<= 1.5"),
        }
        lines = self._pages(made.small, cases)
        world.edit(made.person, made.large, self.plan.edits)
        edited = {
            f"First page, {large:,} notes, after {self.plan.edits:,} edits": (made.large, False, "<= 1.2"),
            f"Middle page, {large:,} notes, after {self.plan.edits:,} edits": (made.large, True, "<= 1.5"),
        }
        return lines + self._pages(made.small, edited)

    def _pages(self, small: Agent, cases: dict[str, tuple[Agent, bool, str]]) -> list[Result]:
        """Read the first page of the small project and each case's page by turns, one call at a time."""
        port = self.memford.port
        script = [wire.read_memory(port, small.key, small.project_id)]
        for agent, in_middle, _ in cases.values():
            cursor = world.middle_cursor(agent) if in_middle else None
            script.append(wire.read_memory(port, agent.key, agent.project_id, cursor))
        ratios: list[list[float]] = [[] for _ in cases]
        medians: list[list[float]] = [[] for _ in script]
        for _ in range(self.plan.rounds):
            seconds = self.plan.volume_seconds / self.plan.rounds
            reading = self._load(self.memford, [script], clients=1, seconds=seconds)
            base, *others = [percentile(latencies, 50) for latencies in reading.latencies_ms]
            for place, value in zip(medians, [base, *others], strict=True):
                place.append(value)
            for place, value in zip(ratios, others, strict=True):
                place.append(value / base)
        at_small = f"{statistics.median(medians[0]):.2f} ms"
        return [
            Result(
                name,
                statistics.median(ratios[number]),
                "x",
                goal,
                details={
                    "here": f"{statistics.median(medians[number + 1]):.2f} ms",
                    "first page at 1,000": at_small,
                    "ratios": _span(ratios[number]),
                },
            )
            for number, (name, (_, _, goal)) in enumerate(cases.items())
        ]


def _compare(
    name: str, ours: Sequence[Round], others: Sequence[Round], other: str, goals: tuple[str, str]
) -> list[Result]:
    """Compare two servers in calls per second, and in calls per second of the worker's processor time."""
    lines = []
    for what, measure in (("calls/s", "calls_per_second"), ("per CPU", "calls_per_cpu_second")):
        ratios = [getattr(a, measure) / getattr(b, measure) for a, b in zip(ours, others, strict=True)]
        details = {
            "Memford": f"{median_of(ours, measure):,.0f}/s",
            other: f"{median_of(others, measure):,.0f}/s",
            "ratios": _span(ratios),
        }
        if measure == "calls_per_second":
            details |= {
                "worker busy": f"{median_of(ours, 'worker_busy'):.0%}, {median_of(others, 'worker_busy'):.0%}",
                "other core": f"{median_of(ours, 'others_busy'):.0%}, {median_of(others, 'others_busy'):.0%}",
            }
        else:
            details["PostgreSQL"] = (
                f"{median_of(ours, 'postgres_ms'):.2f}, {median_of(others, 'postgres_ms'):.2f} ms a call"
            )
        is_void = measure == "calls_per_second" and median_of(others, "worker_busy") < LIMITING_BUSY
        name_here = f"{name}: {what}, of the {other}"
        lines.append(Result(name_here, statistics.median(ratios), "x", *goals, details, is_void))
    return lines


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.2f}-{max(values):.2f}"


def shape(value: Any) -> Any:
    """Return JSON with the types in place of the values; a text that holds JSON is looked into."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(member) for member in value]
    if isinstance(value, str) and value.startswith("{"):
        return shape(json.loads(value))
    return type(value).__name__


def _answer_to(port: int, step: Step) -> bytes:
    """Send one request by hand and return the body of its success."""
    head, _, body = step.once().partition("\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    for name in ("Host", "Content-Length"):
        del headers[name]
    with httpx2.Client(trust_env=False) as client:
        response = client.post(f"http://localhost:{port}/mcp", content=body.encode(), headers=headers, timeout=30)
    if response.status_code != 200 or step.expect.encode() not in response.content:
        raise BenchError(f"An answer is no success: {response.status_code} {response.text[:2_000]}")
    return response.content


def up_starts(folder: Path, starts: int) -> list[Result]:
    """Measure how long ``memford up`` takes until it says that it is ready, on a data directory it has made."""
    data_dir = folder / "up"
    cold = _seconds_until_up(data_dir)
    warm = [_seconds_until_up(data_dir) for _ in range(starts)]
    details = {"cold": f"{cold:.1f} s", "starts": _span(warm)}
    return [Result("memford up, warm start", statistics.median(warm), "s", "<= 10", details=details)]


def _seconds_until_up(data_dir: Path) -> float:
    """Start, wait for the printed URL and for ``/healthz``, stop; return the seconds until both were there."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("memford")), "up", "--port", str(port), "--data-dir", str(data_dir)]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MEMFORD_") and name not in {"DATABASE_URL", "REDIS_URL"}
    }
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        _await_url(process, port)
        _await_health(process, port)
        return time.monotonic() - begin
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(30)


def _await_url(process: "subprocess.Popen[str]", port: int) -> None:
    """Read what is printed until it names the URL; a thread goes on reading so that nothing blocks."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    printed = ""
    deadline = time.monotonic() + UP_LIMIT_SECONDS
    while not re.search(rf"https?://[^\s]*:{port}\b", printed):
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise BenchError(f"memford up printed no URL within {UP_LIMIT_SECONDS} s:\n{printed}") from None
        if line is None:
            raise BenchError(f"memford up ended:\n{printed}")
        printed += line


def _await_health(process: "subprocess.Popen[str]", port: int) -> None:
    deadline = time.monotonic() + UP_LIMIT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx2.get(f"http://localhost:{port}/healthz", timeout=2).status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.02)
    raise BenchError("memford up printed its URL, but /healthz does not answer.")
