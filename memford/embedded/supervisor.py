"""Starts the children of ``memford up`` in order, brings back a dead one, and ends all of them (S1)."""

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from memford.embedded.errors import EmbeddedError
from memford.embedded.processes import Identity, output_since, spawn

FIRST_DELAY_SECONDS = 0.1
DELAY_MAX_SECONDS = 5.0
STEADY_AFTER_SECONDS = 3.0
LOG_MAX_BYTES = 20 * 1024 * 1024
LOG_CHECK_INTERVAL_SECONDS = 60.0
HURRY_SECONDS = 0.3


class StopRequestedError(BaseException):
    """A signal asked to stop while the instance was still starting."""


@dataclass
class Service:
    """One child process: how to start it, how to end it, and how it is doing.

    ``stop_stage`` orders the end, lowest first. A child then gets ``stop_signals`` one after the other, each
    with the seconds it is given, and at last SIGKILL. ``death_signal`` is what it gets when the supervisor
    is killed.
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    log: Path
    stop_stage: int
    stop_signals: Sequence[tuple[signal.Signals, float]]
    death_signal: signal.Signals = signal.SIGKILL
    identity: Identity = Identity.SELF
    cwd: Path | None = None
    process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    started_at: float = field(default=0.0, init=False)
    failures: int = field(default=0, init=False)
    log_offset: int = field(default=0, init=False)
    start_again_at: float | None = field(default=None, init=False)

    def spawn(self) -> None:
        """Start the process."""
        self.log_offset = self.log.stat().st_size if self.log.exists() else 0
        self.process = spawn(
            self.argv,
            env=self.env,
            log=self.log,
            identity=self.identity,
            death_signal=self.death_signal,
            cwd=self.cwd,
        )
        self.started_at = time.monotonic()
        self.start_again_at = None

    @property
    def is_alive(self) -> bool:
        """Whether the process runs; a dead one is reaped."""
        return self.process is not None and self.process.poll() is None

    def check(self) -> None:
        """Make sure the process runs while its readiness is awaited.

        Raises:
            EmbeddedError: It ended; the message holds what it wrote.
        """
        if not self.is_alive:
            raise EmbeddedError(f"{self.name} ended while starting.\n{self.output}")

    @property
    def ending(self) -> str:
        """How the process ended, in words."""
        code = 0 if self.process is None else self.process.returncode
        if code >= 0:
            return f"ended with exit status {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"

    @property
    def output(self) -> str:
        """What the process wrote to its log since it was started."""
        return f"From {self.log}:\n{output_since(self.log, self.log_offset)}"

    def plan_restart(self) -> float:
        """Decide when to start a dead process again, and return in how many seconds that is."""
        steady = time.monotonic() - self.started_at >= STEADY_AFTER_SECONDS
        self.failures = 0 if steady else self.failures + 1
        delay = min(FIRST_DELAY_SECONDS * 2.0**self.failures, DELAY_MAX_SECONDS)
        self.start_again_at = time.monotonic() + delay
        return delay

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process, if it still runs."""
        if self.is_alive and self.process is not None:
            self.process.send_signal(number)

    def kill(self) -> None:
        """Kill the process and what else is in its session's process group."""
        if self.process is None or not self.is_alive:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self.process.kill()
        self.process.wait()


class Supervisor:
    """The services of one instance, in the order in which they were started."""

    def __init__(
        self,
        say: Callable[[str], None],
        changed: Callable[[dict[str, int]], None] | None = None,
        each_second: Callable[[], None] | None = None,
    ) -> None:
        """Take ``say`` for news, ``changed`` for the pids by name after each start, and what to do while watching."""
        self.services: list[Service] = []
        self._say = say
        self._changed = changed or (lambda _pids: None)
        self._each_second = each_second or (lambda: None)
        self._stop_requests = 0
        self._raise_on_signal = False
        self._wakeup: int | None = None
        self._logs_checked_at = time.monotonic()

    def start(self, service: Service) -> Service:
        """Start a service and keep it."""
        service.spawn()
        self.services.append(service)
        self._changed(self.pids)
        return service

    @property
    def pids(self) -> dict[str, int]:
        """The process id of each service that runs."""
        return {service.name: service.process.pid for service in self.services if service.process is not None}

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Take SIGINT, SIGTERM and SIGHUP as the wish to stop: by an exception until `watch` is called."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        previous_wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        wanted = {signal.SIGINT: self._on_stop, signal.SIGTERM: self._on_stop, signal.SIGHUP: self._on_stop}
        previous = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        self._wakeup, self._raise_on_signal = reading, True
        try:
            yield
        finally:
            self._raise_on_signal = False
            for number, handler in previous.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(previous_wakeup)
            os.close(reading)
            os.close(writing)
            self._wakeup = None

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        """Count a wish to stop."""
        self._stop_requests += 1
        if self._raise_on_signal:
            self._raise_on_signal = False
            raise StopRequestedError

    def watch(self) -> None:
        """Keep the services running until a signal asks to stop."""
        self._raise_on_signal = False
        while not self._stop_requests:
            self._revive()
            self._trim_logs()
            self._each_second()
            self._sleep(self._next_wakeup())

    def _revive(self) -> None:
        """Notice dead services and start those again whose time has come."""
        for service in self.services:
            if service.start_again_at is None and not service.is_alive:
                self._put_off(service, service.ending)
            if service.start_again_at is not None and service.start_again_at <= time.monotonic():
                self._start_again(service)

    def _start_again(self, service: Service) -> None:
        """Start a service that ended; where even that fails, try later."""
        try:
            service.spawn()
        except OSError as error:
            self._put_off(service, f"cannot be started: {error}")
        else:
            self._changed(self.pids)

    def _put_off(self, service: Service, what: str) -> None:
        """Plan the next start of a service and say why."""
        delay = service.plan_restart()
        self._say(f"{service.name} {what}; starting it again in {delay:.1f} s")

    def _next_wakeup(self) -> float:
        """Return how many seconds may pass before something is due."""
        due = [service.start_again_at for service in self.services if service.start_again_at is not None]
        return max(0.0, min([*due, time.monotonic() + 1.0]) - time.monotonic())

    def _sleep(self, seconds: float) -> None:
        """Wait for a signal, at most ``seconds``."""
        if self._wakeup is None:
            time.sleep(seconds)
        elif select.select([self._wakeup], [], [], seconds)[0]:
            os.read(self._wakeup, 512)

    def _trim_logs(self) -> None:
        """Keep one older part of a log that has grown large, and begin it anew."""
        if time.monotonic() - self._logs_checked_at < LOG_CHECK_INTERVAL_SECONDS:
            return
        self._logs_checked_at = time.monotonic()
        for service in self.services:
            trim_log(service.log)

    def stop(self) -> None:
        """End all services, stage by stage; returns within 5 s. A further Ctrl-C hurries."""
        self._raise_on_signal = False
        for service in self.services:
            service.start_again_at = None
        for stage in sorted({service.stop_stage for service in self.services}):
            self._stop_stage([service for service in self.services if service.stop_stage == stage])
        self.services.clear()

    def _stop_stage(self, services: list[Service]) -> None:
        """End services of one stage side by side."""
        hurried_from = self._stop_requests
        plans = {service.name: list(service.stop_signals) for service in services}
        deadlines = dict.fromkeys(plans, 0.0)
        while alive := [service for service in services if service.is_alive]:
            hurry = self._stop_requests > hurried_from and self._stop_requests > 1
            for service in alive:
                if time.monotonic() < deadlines[service.name] and not hurry:
                    continue
                if not plans[service.name]:
                    self._say(f"{service.name} does not end; killing it")
                    service.kill()
                    continue
                number, seconds = plans[service.name].pop(0)
                deadlines[service.name] = time.monotonic() + (HURRY_SECONDS if hurry else seconds)
                service.send(number)
            if hurry:
                hurried_from = self._stop_requests
            self._sleep(0.05)


def trim_log(path: Path) -> None:
    """Move a log beyond 20 MiB to a file with ``.1`` behind its name; writers keep their descriptor."""
    try:
        if path.stat().st_size <= LOG_MAX_BYTES:
            return
        older = path.with_name(f"{path.name}.1")
        shutil.copyfile(path, older)
        older.chmod(0o600)
        os.truncate(path, 0)
    except OSError:
        return
