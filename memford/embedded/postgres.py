"""The embedded PostgreSQL: one cluster in the data directory, on loopback, with passwords (S1).

Acknowledged writes survive a kill -9 of everything: ``fsync`` and ``synchronous_commit`` stay on. Logs
never hold the text of a statement or a value of a row.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import sql

from memford.embedded.binaries import POSTGRES_MAJOR_VERSION, Binaries
from memford.embedded.errors import EmbeddedError
from memford.embedded.processes import (
    NOBODY_ID,
    Identity,
    await_end,
    is_alive,
    output_since,
    pids_working_in,
    spawn,
)
from memford.embedded.state import (
    TRAVERSABLE_DIRECTORY_MODE,
    DataDir,
    Secrets,
    sync_directory,
    write_private_text,
)
from memford.embedded.supervisor import Service

ADMIN_ROLE = "memford_admin"
SYSTEM_ROLE = "memford_system"
APP_ROLE = "memford_app"
DATABASE = "memford"
INITDB_MAX_SECONDS = 120
READY_MAX_SECONDS = 180

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] %q%u ",
    # Errors hold values and statements their text: both stay out of the log (P2). Who made the error hears of it.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

# Rights on tables are given by memford.grants after each migration.
PROVISION: tuple[LiteralString, ...] = (
    "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    "REVOKE ALL ON DATABASE {database} FROM PUBLIC",
    "GRANT CONNECT ON DATABASE {database} TO {app}",
    "GRANT USAGE ON SCHEMA public TO {app}",
)


class Postgres:
    """The database server of one data directory."""

    def __init__(
        self,
        data_dir: DataDir,
        secrets: Secrets,
        binaries: Binaries,
        *,
        port: int,
        identity: Identity,
        durable: bool = True,
    ) -> None:
        """Take ``durable=False`` for clusters of tests only: it trades safety in a power cut for speed."""
        self._data_dir = data_dir
        self._secrets = secrets
        self._binaries = binaries
        self._port = port
        self._identity = identity
        self._durable = durable
        self.cluster = data_dir.path / "postgres"

    @property
    def system_url(self) -> str:
        """Where the role for migrations, authentication and jobs connects."""
        return self._url(SYSTEM_ROLE, self._secrets.database_system_password, DATABASE)

    @property
    def app_url(self) -> str:
        """Where the role that serves owners and agents connects."""
        return self._url(APP_ROLE, self._secrets.database_app_password, DATABASE)

    def _url(self, role: str, password: str, database: str) -> str:
        """Build a connection URL; passwords hold nothing that needs quoting."""
        return f"postgresql://{role}:{password}@127.0.0.1:{self._port}/{database}"

    def _admin_url(self, database: str) -> str:
        """Where the superuser connects."""
        return self._url(ADMIN_ROLE, self._secrets.database_admin_password, database)

    def prepare(self, say: Callable[[str], None]) -> None:
        """Make the cluster when it is missing, and wait for an old server on it to end.

        Raises:
            EmbeddedError: What is there cannot be used; the message says why and what to do.
        """
        if self._identity is Identity.NOBODY:
            self._let_nobody_through()
        if self.cluster.exists():
            self._check_cluster()
            self._own_cluster()
            self._await_old_server(say)
        else:
            self._make_cluster()

    def _let_nobody_through(self) -> None:
        """Let user 65534 pass, but not look, into the data directory."""
        self._data_dir.path.chmod(TRAVERSABLE_DIRECTORY_MODE)
        needed = [*self._data_dir.path.parents, *self._binaries.postgres.parents]
        closed = [folder for folder in needed if not folder.stat().st_mode & 0o001]
        if closed:
            raise EmbeddedError(
                f"PostgreSQL does not run as root, user namespaces are refused here, and user {NOBODY_ID} "
                f"cannot pass through {closed[0]}. Start Memford as an ordinary user, or keep it and its "
                "--data-dir where others can pass, such as /var/lib/memford."
            )

    def _check_cluster(self) -> None:
        """Make sure the cluster is whole and made by this version."""
        try:
            version = (self.cluster / "PG_VERSION").read_text(encoding="ascii").strip()
        except OSError:
            version = ""
        if version == str(POSTGRES_MAJOR_VERSION) and (self.cluster / "global" / "pg_control").exists():
            return
        state = f"was made by PostgreSQL {version}" if version else "is not a whole database"
        raise EmbeddedError(
            f"{self.cluster} {state}; this Memford brings PostgreSQL {POSTGRES_MAJOR_VERSION}. Export the "
            "data with the Memford that made it, or move the folder away to begin anew."
        )

    def _own_cluster(self) -> None:
        """Hand the cluster to whom the server runs as, when it ran as another before (only root can)."""
        owner = NOBODY_ID if self._identity is Identity.NOBODY else os.geteuid()
        if os.geteuid() == 0 and self.cluster.stat().st_uid != owner:
            _chown_tree(self.cluster, owner)

    def _await_old_server(self, say: Callable[[str], None]) -> None:
        """Wait until processes of an earlier server on this cluster are gone.

        The data directory's lock is ours, so they are the remains of a killed instance.
        """
        await_end("PostgreSQL", self._old_processes, say)
        # What is left is a file; its process id may by now be anybody's, which the server could not tell.
        (self.cluster / "postmaster.pid").unlink(missing_ok=True)

    def _old_processes(self) -> list[int]:
        """Return the processes that serve this cluster now."""
        if Path("/proc/self/cwd").exists():
            return pids_working_in(self.cluster)
        try:
            pid = int((self.cluster / "postmaster.pid").read_text(encoding="ascii").split()[0])
        except (OSError, ValueError, IndexError):
            return []
        return [pid] if is_alive(pid) else []

    def _make_cluster(self) -> None:
        """Run initdb beside the final place and rename: an interrupted one is thrown away, never trusted."""
        fresh = self._data_dir.path / "postgres.new"
        password_file = self._data_dir.path / "initdb.password"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        write_private_text(password_file, self._secrets.database_admin_password + "\n")
        try:
            if self._identity is Identity.NOBODY:
                os.chown(fresh, NOBODY_ID, NOBODY_ID)
                os.chown(password_file, NOBODY_ID, NOBODY_ID)
            self._run_initdb(fresh, password_file)
        finally:
            password_file.unlink(missing_ok=True)
        fresh.rename(self.cluster)
        sync_directory(self._data_dir.path)

    def _run_initdb(self, target: Path, password_file: Path) -> None:
        """Fill an empty folder with a new cluster."""
        log = self._data_dir.log("initdb")
        argv = [
            str(self._binaries.initdb),
            f"--pgdata={target}",
            f"--username={ADMIN_ROLE}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--no-instructions",
            *([] if self._durable else ["--no-sync"]),
        ]
        log.unlink(missing_ok=True)
        process = spawn(argv, env=_environment(), log=log, identity=self._identity, cwd=target)
        try:
            code = process.wait(timeout=INITDB_MAX_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if code != 0:
            raise EmbeddedError(f"initdb failed. From {log}:\n{output_since(log, 0)}")

    def service(self) -> Service:
        """Return the server as a service: fast shutdown first, then immediate, both safe for the data."""
        settings = {**SETTINGS, **(DURABLE if self._durable else FORGETFUL), "port": str(self._port)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return Service(
            name="postgres",
            argv=[str(self._binaries.postgres), "-D", str(self.cluster), *options],
            env=_environment(),
            log=self._data_dir.log("postgres"),
            stop_stage=2,
            stop_signals=[(signal.SIGINT, 0.8), (signal.SIGQUIT, 0.3)],
            death_signal=signal.SIGQUIT,
            identity=self._identity,
            cwd=self.cluster,
        )

    def await_ready(self, service: Service) -> None:
        """Wait until the server takes connections, then make sure of roles, database and rights.

        Raises:
            EmbeddedError: It ended, or takes longer than three minutes.
        """
        deadline = time.monotonic() + READY_MAX_SECONDS
        while True:
            service.check()
            try:
                with psycopg.connect(self._admin_url("postgres"), connect_timeout=5, autocommit=True) as connection:
                    return self._provision(connection)
            except psycopg.OperationalError as error:
                if error.pgconn is not None and error.pgconn.used_password:
                    raise EmbeddedError(
                        f"{self.cluster} does not take the password in {self._data_dir.secrets_file}: the two do "
                        "not belong together. Restore both from one backup."
                    ) from error
                if time.monotonic() > deadline:
                    raise EmbeddedError(f"PostgreSQL does not answer: {error}") from error
            time.sleep(0.02)

    def _provision(self, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        """Make roles and database where they are missing; a start that was cut short is completed here."""
        passwords = {
            SYSTEM_ROLE: self._secrets.database_system_password,
            APP_ROLE: self._secrets.database_app_password,
        }
        present = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles")}
        for role in passwords.keys() - present:
            _make_role(connection, role, passwords[role])
        found = connection.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [DATABASE]
        ).fetchone()
        if found == (_PROVISIONED,):
            return
        names = {"database": DATABASE, "system": SYSTEM_ROLE, "app": APP_ROLE}
        identifiers = {key: sql.Identifier(name) for key, name in names.items()}
        if found is None:
            connection.execute(sql.SQL("CREATE DATABASE {database} OWNER {system}").format(**identifiers))
        with psycopg.connect(self._admin_url(DATABASE)) as inside:
            for statement in PROVISION:
                inside.execute(sql.SQL(statement).format(**identifiers))
        connection.execute(
            sql.SQL("COMMENT ON DATABASE {database} IS {mark}").format(mark=sql.Literal(_PROVISIONED), **identifiers)
        )


_PROVISIONED = "Memford's database, provisioned (1)"


def _make_role(connection: "psycopg.Connection[tuple[object, ...]]", role: str, password: str) -> None:
    """Make a plain login role. The server is told a SCRAM verifier, never the password."""
    verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
    statement = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS PASSWORD {}")
    connection.execute(statement.format(sql.Identifier(role), sql.Literal(verifier.decode())))


def _environment() -> dict[str, str]:
    """Return the little that PostgreSQL's programs need; none of Memford's settings are their business."""
    return {"PATH": os.defpath, "LC_ALL": "C", "LANG": "C"}


def _chown_tree(top: Path, owner: int) -> None:
    """Give a folder and all in it to ``owner`` and the group of the same number; links are not followed."""
    for folder, folders, files in os.walk(top):
        for name in [*folders, *files]:
            os.lchown(os.path.join(folder, name), owner, owner)  # noqa: PTH118
    os.lchown(top, owner, owner)
