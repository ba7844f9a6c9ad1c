"""Sessions and streams: what an open stream costs, how soon a hint comes, and what a killed instance does to them."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import httpx2

from tests.bench import wire, world
from tests.bench.hints import Hints, hints_of
from tests.bench.machine import cpu_seconds, memory_mb
from tests.bench.measures import Result, percentile
from tests.bench.servers import MEMFORD, BenchError, Layout, Server, running_server
from tests.bench.steady import Call, SteadyJob
from tests.bench.stream_clients import Diary, StreamJob
from tests.bench.swarm import SteadyCalls, Swarm, running_swarm
from tests.cast import Agent

SESSIONS_EACH: Final = 10
WARMING_STREAMS: Final = 20
WARMING_CALLS: Final = 200
OPENED_PER_SECOND: Final = 250
LONG_LIFE_SECONDS: Final = 3_600
SETTLE_SECONDS: Final = 3.0
SEEDED: Final = 200


@dataclass(frozen=True)
class StreamsPlan:
    """How many streams, and how long each measure takes."""

    streams: int
    idle_seconds: float
    writing_seconds: float
    initializes: int
    steady_seconds: float
    life_seconds: float
    recovery_limit_seconds: float

    @property
    def open_seconds(self) -> float:
        """Over how long the first attachments spread."""
        return self.streams / OPENED_PER_SECOND


class StreamsBench:
    """The measures of sessions and streams, on one audience and servers of their own."""

    def __init__(self, plan: StreamsPlan, layout: Layout) -> None:
        self.plan = plan
        self._layout = layout
        self._audience = world.audience(plan.streams // SESSIONS_EACH, SESSIONS_EACH)
        self._reader = world.reader(100)
        self._warmer = world.writers(1)[0]
        world.analyze()

    def open_streams(self) -> list[Result]:
        """Measure what streams cost that only wait, and how soon a hint comes without the wake-up and with it.

        The streams live long, so that each hint's time is that of an open stream; written is on another instance.
        """
        lines = []
        for wake_up, goal in (("off", "<= 1500"), ("on", "<= 150")):
            more = {"MEMFORD_CHANGE_WAKEUP": wake_up, "MEMFORD_STREAM_LIFE_SECONDS": str(LONG_LIFE_SECONDS)}
            with ExitStack() as stack:
                server = self._server(stack, self._layout.worker, **more)
                other = self._server(stack, self._layout.others, **more)
                before = {field: memory_mb(server.worker_pid, field) for field in ("Rss", "Pss")}
                swarm = stack.enter_context(running_swarm(self._job([server])))
                if wake_up == "off":
                    time.sleep(SETTLE_SECONDS)
                    lines += [self._memory(server, before), self._idle(server)]
                lines.append(self._latency(server, other, swarm, f"Hint, wake-up {wake_up}: p95", goal))
        return lines

    def _job(self, servers: list[Server], streams: int | None = None) -> StreamJob:
        people = self._audience
        ports = [server.port for server in servers]
        return StreamJob(ports, people.keys[:streams], people.sessions[:streams], self.plan.open_seconds)

    def _server(self, stack: ExitStack, cores: frozenset[int], **more: str) -> Server:
        """Start an instance and let it do everything once: what that loads and connects is not what is measured."""
        server = stack.enter_context(running_server(MEMFORD, cores, **more))
        steps = [
            wire.read_memory(server.port, self._reader.key, self._reader.project_id),
            wire.write_memory(server.port, self._warmer.key, self._warmer.project_id, world.note_text()),
        ]
        calls = SteadyCalls(SteadyJob(server.port, steps, WARMING_CALLS, 1.0)).calls()
        if failures := {call.failure for call in calls if call.failure}:
            raise BenchError(f"A server that was just started fails: {failures}")
        job = self._job([server], WARMING_STREAMS)
        with running_swarm(StreamJob(job.ports, job.keys, job.sessions, 0.5)) as swarm:
            swarm.stop()
        return server

    def _memory(self, server: Server, before: dict[str, float]) -> Result:
        each = {
            field: (memory_mb(server.worker_pid, field) - value) * 1_000 / self.plan.streams
            for field, value in before.items()
        }
        details = {"proportional": f"{each['Pss']:.1f} KB", "worker before": f"{before['Rss']:.0f} MB"}
        return Result(f"{self.plan.streams:,} streams: memory each", each["Rss"], "KB", "<= 40", details=details)

    def _idle(self, server: Server) -> Result:
        seconds = self.plan.idle_seconds
        used = cpu_seconds(server.worker_pid)
        time.sleep(seconds)
        share = (cpu_seconds(server.worker_pid) - used) / seconds * 100
        return Result(f"{self.plan.streams:,} streams, idle: of a core", share, "%", "<= 5")

    def _latency(self, server: Server, other: Server, swarm: Swarm, name: str, goal: str) -> Result:
        """Write on one instance and time the hints of the other."""
        before = self._audience.revisions()
        used, began = cpu_seconds(server.worker_pid), time.monotonic()
        writes = SteadyCalls(self._writes(other, 10, self.plan.writing_seconds)).calls()
        busy = (cpu_seconds(server.worker_pid) - used) / (time.monotonic() - began)
        time.sleep(SETTLE_SECONDS)
        hints = self._hints(writes, swarm.stop(), before)
        details = {
            "from": "sending the write",
            "p50": _milliseconds(hints.from_sent, 50),
            "p99": _milliseconds(hints.from_sent, 99),
            "from the write's answer": f"p50 {_milliseconds(hints.from_answer, 50)}",
            "and p95": _milliseconds(hints.from_answer, 95),
            "hints": f"{hints.expected:,}",
            "lost": str(hints.lost),
            "failed writes": str(_failed(writes)),
            "worker busy": f"{busy:.0%}",
        }
        return Result(name, percentile(hints.from_sent, 95) * 1_000, "ms", goal, details=details)

    def _writes(self, server: Server, per_second: float, seconds: float) -> SteadyJob:
        """Write into one project after the other; no project is written twice within one round."""
        steps = [
            wire.write_memory(server.port, agent.key, agent.project_id, world.note_text())
            for agent in self._audience.agents
        ]
        return SteadyJob(server.port, steps, per_second, seconds)

    def _reads(self, server: Server, seconds: float) -> SteadyJob:
        step = wire.read_memory(server.port, self._reader.key, self._reader.project_id)
        return SteadyJob(server.port, [step], 20, seconds)

    def _hints(self, writes: list[Call], diary: Diary, before: list[int]) -> Hints:
        return hints_of(writes, diary, before=before, streams_per_project=SESSIONS_EACH)

    def sessions(self) -> list[Result]:
        """Begin many sessions of one connection that never ends one; memory and live sessions stay bounded."""
        agent = world.writers(1)[0]
        count, first = self.plan.initializes, min(SEEDED, self.plan.initializes // 2)
        with ExitStack() as stack:
            server = self._server(stack, self._layout.worker)
            _initialize(server, agent, first)
            before, began = memory_mb(server.worker_pid), time.monotonic()
            _initialize(server, agent, count - first)
            growth = memory_mb(server.worker_pid) - before
            speed = (count - first) / (time.monotonic() - began)
        name = f"{count:,} initialize without DELETE"
        details = {"counted from": f"call {first}", "worker then": f"{before:.0f} MB", "speed": f"{speed:.0f}/s"}
        return [
            Result(f"{name}: growth", growth, "MB", "<= 5", details=details),
            Result(f"{name}: live sessions", world.live_sessions(agent), "", "<= 1000"),
        ]

    def steady(self) -> list[Result]:
        """Let streams come to the end of their lives and clients come again, with calls and writes meanwhile."""
        life = {"MEMFORD_STREAM_LIFE_SECONDS": str(self.plan.life_seconds)}
        with ExitStack() as stack:
            server = self._server(stack, self._layout.worker, **life)
            swarm = stack.enter_context(running_swarm(self._job([server])))
            before, resident = self._audience.revisions(), memory_mb(server.worker_pid)
            used, began = cpu_seconds(server.worker_pid), time.monotonic()
            reading = SteadyCalls(self._reads(server, self.plan.steady_seconds))
            writes = SteadyCalls(self._writes(server, 2, self.plan.steady_seconds)).calls()
            reads = reading.calls()
            busy = (cpu_seconds(server.worker_pid) - used) / (time.monotonic() - began)
            # A stream that was away when the last write came is told when it is back.
            swarm.wait_until_all_attached(2 * SETTLE_SECONDS)
            time.sleep(2 * SETTLE_SECONDS)
            growth = memory_mb(server.worker_pid) - resident
            diary = swarm.stop()
        hints = self._hints(writes, diary, before)
        again = [seconds for _, at, seconds in diary.attached if at >= began]
        failures = len(diary.failures) + len(diary.cuts)
        name = f"{self.plan.streams:,} streams come again"
        details = {
            "attachments": f"{len(again):,}",
            "attaching p99": _milliseconds(again, 99) if again else "none",
            "worker busy": f"{busy:.0%}",
            "worker grew": f"{growth:.1f} MB",
            "reasons": _reasons(diary),
        }
        return [
            Result(f"{name}: failures", failures, "", "<= 0", details=details),
            _calls_result(f"{name}: memory_read, p99", reads),
            _lost_result(f"{name}: lost hints", hints, writes),
        ]

    def kill(self) -> list[Result]:
        """Kill one of two instances under its streams; their clients go to the other, and no hint is lost."""
        limit = self.plan.recovery_limit_seconds
        with ExitStack() as stack:
            survivor = self._server(stack, self._layout.worker)
            victim = self._server(stack, self._layout.others)
            swarm = stack.enter_context(running_swarm(self._job([survivor, victim])))
            before = self._audience.revisions()
            reading = SteadyCalls(self._reads(survivor, limit))
            writing = SteadyCalls(self._writes(survivor, 5, limit))
            time.sleep(SETTLE_SECONDS)
            used, killed_at = cpu_seconds(survivor.worker_pid), time.monotonic()
            victim.kill()
            # The clients learn of it by themselves; what is asked for here is only when to stop waiting.
            time.sleep(0.5)
            all_back = swarm.wait_until_all_attached(limit)
            busy = (cpu_seconds(survivor.worker_pid) - used) / (time.monotonic() - killed_at)
            writes, reads = writing.calls(), reading.calls()
            swarm.wait_until_all_attached(2 * SETTLE_SECONDS)
            time.sleep(2 * SETTLE_SECONDS)
            diary = swarm.stop()
        seconds = _seconds_until_back(diary, killed_at) if all_back else limit
        meanwhile = [call for call in reads if killed_at <= call.due <= killed_at + seconds]
        name = f"Instance killed under {len(diary.cuts):,} of {self.plan.streams:,} streams"
        details = {
            "attaching p99": _milliseconds([took for _, at, took in diary.attached if at >= killed_at], 99),
            "survivor busy": f"{busy:.0%}",
            "refused": str(diary.refused),
            "failures": _reasons(diary),
            "all": "back" if all_back else "NOT back",
        }
        return [
            Result(f"{name}: all back", seconds, "s", "<= 30", details=details),
            _calls_result("Instance killed: memory_read on the other, p99", meanwhile),
            _lost_result("Instance killed: lost hints", self._hints(writes, diary, before), writes),
        ]


def _initialize(server: Server, agent: Agent, count: int) -> None:
    """Begin sessions, one behind the other, over one HTTP connection."""
    step = wire.begin(server.port, agent.key)[0]
    head, _, body = step.request.partition("\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    with httpx2.Client(trust_env=False) as client:
        for _ in range(count):
            response = client.post(f"http://127.0.0.1:{server.port}/mcp", content=body.encode(), headers=headers)
            if response.status_code != 200 or "mcp-session-id" not in response.headers:
                raise BenchError(f"initialize is no success: {response.status_code} {response.text[:500]}")


def _seconds_until_back(diary: Diary, killed_at: float) -> float:
    """Return how long after the kill the last of the streams that it cut was attached again."""
    cut = {stream for stream, at in diary.cuts if at >= killed_at}
    back: dict[int, float] = {}
    for stream, at, _ in diary.attached:
        if stream in cut and at >= killed_at:
            back.setdefault(stream, at)
    return max(back.values(), default=killed_at) - killed_at


def _calls_result(name: str, calls: list[Call]) -> Result:
    seconds = [call.seconds for call in calls]
    details = {
        "p50": _milliseconds(seconds, 50),
        "longest": _milliseconds(seconds, 100),
        "calls": f"{len(calls):,}",
        "failed": str(_failed(calls)),
    }
    return Result(name, percentile(seconds, 99) * 1_000, "ms", "<= 1000", details=details)


def _lost_result(name: str, hints: Hints, writes: list[Call]) -> Result:
    details = {
        "of": f"{hints.expected:,}",
        "writes": f"{len(writes):,}",
        "failed writes": str(_failed(writes)),
        "hint p50": _milliseconds(hints.from_sent, 50),
        "p95": _milliseconds(hints.from_sent, 95),
        "longest": _milliseconds(hints.from_sent, 100),
    }
    return Result(name, hints.lost, "", "<= 0", details=details)


def _failed(calls: list[Call]) -> int:
    return sum(bool(call.failure) for call in calls)


def _reasons(diary: Diary) -> str:
    """Return the reasons of failures, each once."""
    return "; ".join(sorted({why for _, _, why in diary.failures})) or "none"


def _milliseconds(seconds: list[float], share: float) -> str:
    return f"{percentile(seconds, share) * 1_000:.0f} ms"
