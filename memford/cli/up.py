"""``memford up``: everything on one machine, under one supervisor (S1, S2)."""

import errno
import http.client
import os
import shlex
import shutil
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from memford.embedded.errors import EmbeddedError
from memford.embedded.mailbox import Mailbox
from memford.embedded.state import DataDir, Running, Secrets, default_data_dir
from memford.embedded.stores import Stores, start_stores
from memford.embedded.supervisor import Service, StopRequestedError, Supervisor, trim_log

WORKERS_MAX_BY_DEFAULT = 2
WEB_READY_MAX_SECONDS = 60
OLD_PORT_PATIENCE_SECONDS = 10
GRACEFUL_TIMEOUT_SECONDS = 3
PROJECT_ROOT = Path(__file__).resolve().parents[2]
GUNICORN_CONFIG = PROJECT_ROOT / "deploy" / "gunicorn.conf.py"
# What belongs to a terminal that is a client, not to the service.
WORKER_OPTIONS = (
    "--pool=solo",
    "--concurrency=1",
    "--without-gossip",
    "--without-mingle",
    "--without-heartbeat",
)
CLIENT_VARIABLES = {"MEMFORD_API_KEY", "MEMFORD_URL", "MEMFORD_OWNER_PASSWORD"}


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    host: str
    port: int
    data_dir: Path
    workers: int

    @classmethod
    def of(cls, *, host: str, port: int, data_dir: Path | None, workers: int | None) -> Self:
        """Fill in what was left open."""
        wanted = workers or os.environ.get("MEMFORD_WORKERS") or min(WORKERS_MAX_BY_DEFAULT, os.cpu_count() or 1)
        try:
            return cls(host=host, port=port, data_dir=data_dir or default_data_dir(), workers=int(wanted))
        except ValueError as error:
            raise EmbeddedError("MEMFORD_WORKERS is no number.") from error

    @property
    def public_url(self) -> str:
        """The one URL the instance is known by (G6, S1)."""
        return os.environ.get("MEMFORD_PUBLIC_URL", "").rstrip("/") or f"http://localhost:{self.port}"


def run(options: Options) -> None:
    """Run an instance until a signal ends it.

    Raises:
        EmbeddedError: It cannot start; nothing of it is left running.
    """
    os.umask(0o077)
    own_stores = has_own_stores()
    data_dir = DataDir(options.data_dir)
    data_dir.create()
    with data_dir.lock(options.public_url):
        await_port(options, patient=data_dir.ended_badly())
        Instance(options, data_dir, own_stores=own_stores).run()


def has_own_stores() -> bool:
    """Return whether the operator brings PostgreSQL and Redis.

    Raises:
        EmbeddedError: Only one of the two is given: nothing is guessed (P4).
    """
    given = [name for name in ("DATABASE_URL", "REDIS_URL") if os.environ.get(name)]
    if len(given) == 1:
        missing = "REDIS_URL" if given == ["DATABASE_URL"] else "DATABASE_URL"
        raise EmbeddedError(
            f"{given[0]} is set but {missing} is not. Set both to use stores of your own, "
            "or neither to use embedded ones."
        )
    return len(given) == 2


def await_port(options: Options, *, patient: bool) -> None:
    """Make sure the port is free; after a killed run its web server may need a moment to let go of it.

    Raises:
        EmbeddedError: Another program has the port, or the address is not one of this machine.
    """
    deadline = time.monotonic() + (OLD_PORT_PATIENCE_SECONDS if patient else 0)
    while not _port_is_free(options):
        if time.monotonic() >= deadline:
            raise EmbeddedError(f"Port {options.port} is in use by another program. Choose another one with --port.")
        time.sleep(0.05)


def _port_is_free(options: Options) -> bool:
    """Try to bind every address the web server will bind."""
    hosts = ["127.0.0.1", "::1"] if options.host == "localhost" else [options.host.strip("[]")]
    for host in hosts:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, options.port))
                probe.listen()
        except PermissionError as error:
            raise EmbeddedError(f"Port {options.port} needs rights that you lack; choose one above 1023.") from error
        except OSError as error:
            if _is_taken(error):
                return False
            if host != "::1":
                raise EmbeddedError(f"Cannot bind {host}: {error.strerror or error}.") from error
    return True


def _is_taken(error: OSError) -> bool:
    """Return whether a bind failed because of another program."""
    return error.errno == errno.EADDRINUSE


class Instance:
    """One run of ``memford up``."""

    def __init__(self, options: Options, data_dir: DataDir, *, own_stores: bool) -> None:
        self._options = options
        self._data_dir = data_dir
        self._own_stores = own_stores
        self._mailbox = Mailbox(data_dir.path / "mail")
        self._supervisor = Supervisor(say, changed=self._record, each_second=self._mailbox.show_new)
        self._environment: dict[str, str] = {}
        self._permission = data_dir.path / "migrated"
        self._is_up = False

    def run(self) -> None:
        """Start all parts, keep them running, and end them within 5 s of the signal to stop."""
        with self._supervisor.signals():
            try:
                self._start()
                self._supervisor.watch()
            except StopRequestedError:
                pass
            finally:
                if sys.exception() is None:
                    say("Stopping")
                self._supervisor.stop()
                self._data_dir.clear_running()

    def _start(self) -> None:
        """Start the parts in order; each is ready before what needs it starts."""
        for log in self._data_dir.logs.glob("*.log"):
            trim_log(log)
        secrets = self._data_dir.load_secrets()
        self._environment = self._own_environment(secrets)
        stores = None if self._own_stores else self._start_stores(secrets)
        os.environ.update(self._environment)
        # The web server loads its code meanwhile, and serves once the database is migrated.
        self._permission.unlink(missing_ok=True)
        web = self._supervisor.start(self._web())
        import django

        django.setup()
        if stores is not None:
            stores.await_ready()
        self._migrate()
        self._permission.touch()
        link = self._first_owner_link()
        await_web(self._options, web)
        self._supervisor.start(self._celery("worker", *WORKER_OPTIONS))
        self._supervisor.start(self._celery("beat", f"--schedule={self._data_dir.path / 'celerybeat-schedule'}"))
        self._is_up = True
        self._record(self._supervisor.pids)
        announce(self._options, self._data_dir, link, own_stores=self._own_stores)

    def _own_environment(self, secrets: Secrets) -> dict[str, str]:
        """Return the settings of this run but for the stores: the operator's own, and what they left open."""
        given = {
            name: value
            for name, value in os.environ.items()
            if (name.startswith("MEMFORD_") and name not in CLIENT_VARIABLES) or name in {"DATABASE_URL", "REDIS_URL"}
        }
        return {
            "MEMFORD_SECRET_KEY": secrets.secret_key,
            # Whoever starts this reads the mail here, unless they set how it leaves.
            "MEMFORD_MAIL_URL": self._mailbox.url,
            **given,
            "MEMFORD_PUBLIC_URL": self._options.public_url,
            "MEMFORD_HOST": self._options.host,
            "MEMFORD_PORT": str(self._options.port),
            "MEMFORD_WORKERS": str(self._options.workers),
            "MEMFORD_GRACEFUL_TIMEOUT_SECONDS": str(GRACEFUL_TIMEOUT_SECONDS),
            "MEMFORD_SERVE_WHEN": str(self._permission),
            "DJANGO_SETTINGS_MODULE": "memford.settings",
        }

    def _start_stores(self, secrets: Secrets) -> Stores:
        """Start the embedded stores and take note of their URLs."""
        stores = start_stores(self._supervisor, self._data_dir, secrets, say=say)
        self._environment.update(stores.environment)
        return stores

    def _migrate(self) -> None:
        """Bring the database to this version's schema."""
        from memford.embedded.migrations import migrate_once

        if migrate_once():
            say("The database was brought to this version's schema")

    def _first_owner_link(self) -> str:
        """Return a sign-in link for the first owner, and let go of the database."""
        from django.db import connections

        from accounts.services import first_owner_link

        try:
            return first_owner_link()
        finally:
            connections.close_all()

    def _web(self) -> Service:
        """Return the web server: it is told first to end, and its grace time ends before it is killed."""
        return self._python_service(
            "web",
            ["-m", "gunicorn", "-c", str(GUNICORN_CONFIG)],
            stop_signals=[(signal.SIGTERM, GRACEFUL_TIMEOUT_SECONDS + 0.3)],
            death_signal=signal.SIGTERM,
        )

    def _celery(self, role: str, *arguments: str) -> Service:
        """Return one of Celery's processes; a task it has to give up is delivered again (P3)."""
        return self._python_service(
            role,
            ["-m", "celery", "--app=memford.celery", "--quiet", role, "--loglevel=warning", *arguments],
            stop_signals=[(signal.SIGTERM, GRACEFUL_TIMEOUT_SECONDS - 0.5), (signal.SIGQUIT, 0.5)],
            death_signal=signal.SIGKILL,
        )

    def _python_service(
        self,
        name: str,
        arguments: list[str],
        *,
        stop_signals: list[tuple[signal.Signals, float]],
        death_signal: signal.Signals,
    ) -> Service:
        """Return a service run by this interpreter, with the settings of this run."""
        return Service(
            name=name,
            argv=[sys.executable, *arguments],
            env={key: value for key, value in os.environ.items() if key not in CLIENT_VARIABLES},
            log=self._data_dir.log(name),
            # Python looks for modules in the current directory first: it has to be ours.
            cwd=PROJECT_ROOT,
            stop_stage=0,
            stop_signals=stop_signals,
            death_signal=death_signal,
        )

    def _record(self, pids: dict[str, int]) -> None:
        """Write down what is running, once all of it is, for ``memford bootstrap`` and whoever looks."""
        if self._is_up:
            self._data_dir.write_running(Running(os.getpid(), self._options.public_url, pids, self._environment))


WORKER_OPTIONS = (
    "--pool=solo",
    "--concurrency=1",
    "--without-gossip",
    "--without-mingle",
    "--without-heartbeat",
)


def await_web(options: Options, web: Service) -> None:
    """Wait until the web server answers ``/healthz`` (P2).

    Raises:
        EmbeddedError: It ended, or does not answer within a minute; the message holds what it wrote.
    """
    host = {"localhost": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)  # noqa: S104
    deadline = time.monotonic() + WEB_READY_MAX_SECONDS
    while not _answers(host.strip("[]"), options):
        web.check()
        if time.monotonic() > deadline:
            raise EmbeddedError(f"The web server does not answer.\n{web.output}")
        time.sleep(0.05)


def _answers(host: str, options: Options) -> bool:
    """Return whether ``/healthz`` says 200."""
    connection = http.client.HTTPConnection(host, options.port, timeout=5)
    try:
        connection.request("GET", "/healthz", headers={"Host": urlsplit(options.public_url).netloc})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def announce(options: Options, data_dir: DataDir, link: str, *, own_stores: bool) -> None:
    """Say where the instance is, how its first owner gets in, and what to do next (S1)."""
    from rich.console import Console
    from rich.text import Text

    command = [
        _command_name(),
        "bootstrap",
        "--owner",
        "you@example.com",
        "--project",
        "My project",
        "--json",
    ]
    if not own_stores and data_dir.path != Path(".memford").absolute():
        command[2:2] = ["--data-dir", str(data_dir.path)]
    lines = [
        ("Memford is running at ", options.public_url),
        ("Sign in once with     ", link),
        ("A key for an agent    ", shlex.join(command)),
        ("Logs and data         ", str(data_dir.path)),
        ("Stop with             ", "Ctrl-C"),
    ]
    console = Console(soft_wrap=True, highlight=False)
    for label, value in lines:
        console.print(Text.assemble((label, "dim"), (value, "bold")))


def _command_name() -> str:
    """Return how this command can be called again from here."""
    return "memford" if shutil.which("memford") else sys.argv[0]


def say(message: str) -> None:
    """Give news of the instance, on stderr."""
    # The terminal may be gone by now; that must not keep the parts from being ended.
    with suppress(OSError):
        sys.stderr.write(f"memford: {message}\n")
        sys.stderr.flush()
