"""Making project keys, ending connections, and the first steps of a fresh instance."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid4, uuid5

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from accounts.activity import record_activity
from accounts.services import ensure_owner
from mcp_gateway.connections import access as connections_access
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.selectors import live_keys
from memford.core.activity import Tag
from memford.core.database import APP
from memford.core.errors import InvalidArguments, MemfordError, QuotaExceeded
from memford.core.limits import limits
from memford.core.principal import Writer
from memford.core.secrets import KEY_PREFIX, digest, new_secret
from memford.core.text import check_text
from projects import access as projects_access
from projects.models import Project
from projects.selectors import list_projects
from projects.services import create_project

NAME_MAX_CHARS: Final = 120
EXPIRES_IN_MAX_DAYS: Final = 3_650
BOOTSTRAP_KEYS_MAX: Final = 5
BOOTSTRAP_KEY_NAME: Final = "bootstrap"
SHOWN_PREFIX_CHARS: Final = 8


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key: the connection, and the secret that is shown this once."""

    connection: Connection
    secret: str

    def __repr__(self) -> str:
        return f"IssuedKey({self.connection.pk})"


class AlreadyMade(MemfordError):
    """What asked for a key has made it before; its secret was in the answer then and is kept nowhere (A5)."""

    code = "already_made"
    status = 409
    message = "This key was made already, and its secret was shown then. Revoke it if you lack it, and make another."

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.connection = connection


@dataclass(frozen=True, slots=True)
class BootstrapResult:
    """What a script needs to begin: whose it is, which project, and a fresh key (S2)."""

    owner_email: str
    project_id: UUID
    key: str

    def __repr__(self) -> str:
        return f"BootstrapResult({self.owner_email!r}, {self.project_id})"


@transaction.atomic
def create_key(
    *,
    owner_id: UUID,
    project_id: UUID | str,
    name: str,
    access: str,
    actor: Writer,
    expires_in_days: int | None = None,
    from_bootstrap: bool = False,
    once: UUID | None = None,
) -> IssuedKey:
    """Make a project key; its secret is returned here once and kept as a digest only (A5, O9).

    ``once`` names the asking: sent again, also at the same time, it makes no second key.

    Raises:
        AlreadyMade: A key was made for this ``once``, ended meanwhile or not.
        InvalidArguments: A value is not acceptable.
        NotFound: The project is not this owner's.
        QuotaExceeded: The project has as many live keys as allowed.
    """
    _check_key(name, access, expires_in_days)
    project = projects_access.project_of(owner_id, project_id)
    # Locked so that keys made at the same time are counted one after the other.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    connection_id = uuid4() if once is None else uuid5(project.pk, once.hex)
    made = Connection.objects.filter(owner_id=owner_id, pk=connection_id).first()
    if made is not None:
        raise AlreadyMade(made)
    most = limits().live_keys_per_project_max
    if live_keys(owner_id=owner_id, project_id=project.pk).count() >= most:
        raise QuotaExceeded(f"A project has at most {most} live keys. Revoke one that is no longer used.")
    secret = new_secret(KEY_PREFIX)
    connection = Connection.objects.create(
        pk=connection_id,
        owner_id=owner_id,
        project=project,
        kind=Connection.Kind.KEY,
        name=name,
        access=access,
        expires_at=None if expires_in_days is None else timezone.now() + timedelta(days=expires_in_days),
        key_digest=digest(secret),
        key_prefix=secret[:SHOWN_PREFIX_CHARS],
        from_bootstrap=from_bootstrap,
    )
    record_activity(
        owner_id=owner_id,
        project_id=project.pk,
        tag=Tag.KEY_CREATED,
        actor=actor,
        object_id=connection.pk,
        name=name,
        access=access,
    )
    return IssuedKey(connection, secret)


def _check_key(name: str, access: str, expires_in_days: int | None) -> None:
    fields: dict[str, str] = {}
    if (problem := check_text(name, max_chars=NAME_MAX_CHARS, required=True)) is not None:
        fields["name"] = problem
    if access not in Connection.Access.values:
        fields["access"] = f"must be one of {', '.join(Connection.Access.values)}"
    if expires_in_days is not None and not 1 <= expires_in_days <= EXPIRES_IN_MAX_DAYS:
        fields["expires_in_days"] = f"must be between 1 and {EXPIRES_IN_MAX_DAYS}"
    if fields:
        raise InvalidArguments(fields)


@transaction.atomic
def revoke_connection(*, owner_id: UUID, connection_id: UUID, actor: Writer, reason: str = "owner") -> Connection:
    """End a connection for good: its next call is refused (G7). Ending an ended one changes nothing.

    Raises:
        NotFound: The connection is not this owner's.
    """
    connection = connections_access.connection_of(owner_id, connection_id)
    end_connection(connection, actor=actor, reason=reason)
    connection.refresh_from_db()
    return connection


def end_connection(
    connection: Connection, *, actor: Writer, reason: str, tag: Tag | None = None, using: str = APP
) -> None:
    """End a connection inside the caller's transaction, and say so in the log (A7).

    ``tag`` is a line that comes first, where the reason is one that its owner should see by itself.
    """
    live = Connection.objects.using(using).filter(owner_id=connection.owner_id, pk=connection.pk, revoked_at=None)
    if not live.update(revoked_at=Now(), revoked_reason=reason):
        return
    for line in (tag, Tag.CONNECTION_REVOKED):
        if line is not None:
            record_activity(
                owner_id=connection.owner_id,
                project_id=connection.project_id,
                tag=line,
                actor=actor,
                object_id=connection.pk,
                using=using,
                reason=reason,
            )


@transaction.atomic
def bootstrap(*, owner_email: str, password: str | None, project_name: str, access: str) -> BootstrapResult:
    """Make owner and project where missing and always a new key, ending its own oldest beyond five (S2).

    Raises:
        InvalidArguments: The e-mail, a new owner's password, the project's name or the access is not acceptable.
        QuotaExceeded: The owner's projects or the project's keys are at their limit.
    """
    owner = ensure_owner(email=owner_email, password=password)
    actor = owner.hand
    # The owner's lock makes two bootstraps at once find one project.
    type(owner).objects.select_for_update(no_key=True).get(pk=owner.pk)
    project = list_projects(owner_id=owner.pk).filter(name=project_name).first() or create_project(
        owner_id=owner.pk, name=project_name, actor=actor
    )
    own = list(live_keys(owner_id=owner.pk, project_id=project.pk).filter(from_bootstrap=True))
    for old in own[: max(0, len(own) - BOOTSTRAP_KEYS_MAX + 1)]:
        revoke_connection(owner_id=owner.pk, connection_id=old.pk, actor=actor, reason="bootstrap")
    issued = create_key(
        owner_id=owner.pk,
        project_id=project.pk,
        name=BOOTSTRAP_KEY_NAME,
        access=access,
        actor=actor,
        from_bootstrap=True,
    )
    return BootstrapResult(owner.email, project.pk, issued.secret)
