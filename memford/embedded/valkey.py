"""The embedded Valkey: broker of Celery and store of rate limits, on loopback, with a password (S1, P3)."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.retry import Retry

from memford.embedded.binaries import Binaries
from memford.embedded.errors import EmbeddedError
from memford.embedded.processes import await_end, pids_working_in
from memford.embedded.state import DataDir, Secrets, write_private_text
from memford.embedded.supervisor import Service

READY_MAX_SECONDS = 60
MEMORY_MAX = "256mb"


class Valkey:
    """The Valkey server of one data directory."""

    def __init__(self, data_dir: DataDir, secrets: Secrets, binaries: Binaries, *, port: int) -> None:
        self._data_dir = data_dir
        self._secrets = secrets
        self._binaries = binaries
        self._port = port
        self._folder = data_dir.path / "valkey"
        self._config = self._folder / "valkey.conf"

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"redis://:{self._secrets.valkey_password}@127.0.0.1:{self._port}/0"

    def prepare(self, say: Callable[[str], None]) -> None:
        """Write the configuration (0600); the password is in it, never on a command line.

        Raises:
            EmbeddedError: The server of an earlier run does not end.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        await_end("Valkey", lambda: pids_working_in(self._folder), say)
        settings = {
            "bind": "127.0.0.1",
            "port": str(self._port),
            "protected-mode": "yes",
            "requirepass": self._secrets.valkey_password,
            "dir": _quoted(self._folder),
            "daemonize": "no",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": '""',
            "maxmemory": MEMORY_MAX,
            # A broker must refuse what does not fit, not forget what it took.
            "maxmemory-policy": "noeviction",
        }
        lines = [f"{name} {value}\n" for name, value in settings.items()]
        write_private_text(self._config, "".join(lines))

    def service(self) -> Service:
        """Return the server as a service."""
        return Service(
            name="valkey",
            argv=[str(self._binaries.valkey_server), str(self._config)],
            env={"PATH": os.defpath, "LC_ALL": "C", "LANG": "C"},
            log=self._data_dir.log("valkey"),
            stop_stage=1,
            stop_signals=[(signal.SIGTERM, 0.5)],
            death_signal=signal.SIGTERM,
            cwd=self._folder,
        )

    def await_ready(self, service: Service) -> None:
        """Wait until the server answers.

        Raises:
            EmbeddedError: It ended, refuses the password, or takes longer than a minute.
        """
        deadline = time.monotonic() + READY_MAX_SECONDS
        # The loop below is the retry; the client's own waits a second and more.
        once = Retry(NoBackoff(), retries=0)
        with Redis.from_url(self.url, socket_timeout=5, socket_connect_timeout=5, retry=once) as client:
            while True:
                service.check()
                try:
                    client.ping()
                except AuthenticationError as error:
                    raise EmbeddedError(f"Another server took port {self._port}; start again.") from error
                except RedisError as error:
                    if time.monotonic() > deadline:
                        raise EmbeddedError(f"Valkey does not answer: {error}") from error
                else:
                    return
                time.sleep(0.02)


def _quoted(path: Path) -> str:
    """Write a path as Valkey's configuration reads it."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
