"""Both embedded stores together, as ``memford up`` and the tests start them."""

import socket
from collections.abc import Callable
from dataclasses import dataclass

from memford.embedded.binaries import find_binaries
from memford.embedded.postgres import Postgres
from memford.embedded.processes import unprivileged_identity
from memford.embedded.state import DataDir, Secrets
from memford.embedded.supervisor import Service, Supervisor
from memford.embedded.valkey import Valkey


@dataclass(frozen=True)
class Stores:
    """Stores that were started, and what to call once there is something to wait for."""

    postgres: Postgres
    valkey: Valkey
    postgres_service: Service
    valkey_service: Service

    @property
    def environment(self) -> dict[str, str]:
        """The URLs of the stores, as the rest of Memford reads them."""
        return {
            "DATABASE_URL": self.postgres.app_url,
            "MEMFORD_SYSTEM_DATABASE_URL": self.postgres.system_url,
            "REDIS_URL": self.valkey.url,
        }

    def await_ready(self) -> None:
        """Wait until both answer and the database has its roles.

        Raises:
            EmbeddedError: One of them failed.
        """
        self.postgres.await_ready(self.postgres_service)
        self.valkey.await_ready(self.valkey_service)


def start_stores(
    supervisor: Supervisor,
    data_dir: DataDir,
    secrets: Secrets,
    *,
    say: Callable[[str], None],
    durable: bool = True,
) -> Stores:
    """Start PostgreSQL and Valkey of a data directory whose lock the caller holds.

    Raises:
        EmbeddedError: One of them cannot be started.
    """
    binaries = find_binaries()
    postgres_port, valkey_port = free_ports(2)
    identity = unprivileged_identity()
    postgres = Postgres(data_dir, secrets, binaries, port=postgres_port, identity=identity, durable=durable)
    valkey = Valkey(data_dir, secrets, binaries, port=valkey_port)
    valkey.prepare(say)
    postgres.prepare(say)
    return Stores(
        postgres=postgres,
        valkey=valkey,
        postgres_service=supervisor.start(postgres.service()),
        valkey_service=supervisor.start(valkey.service()),
    )


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback interface that nobody uses, all different."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
