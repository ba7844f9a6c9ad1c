"""The owner's approval: one connection for one client and one project, and the code that carries it (O5)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from accounts.activity import record_activity
from mcp_gateway.authorization import redirects
from mcp_gateway.authorization.audience import audience
from mcp_gateway.authorization.models import Application, Grant
from mcp_gateway.connections.models import Connection
from memford.core.activity import Tag
from memford.core.limits import limits
from memford.core.principal import Writer
from memford.core.scopes import ALL, READ, WRITE, scopes_of
from memford.core.secrets import digest
from projects import access as projects_access
from projects.services import create_project

UNNAMED: Final = "Unnamed client"


@dataclass(frozen=True, slots=True)
class Approval:
    """What an owner approved, and the request it answers."""

    actor: Writer
    client: Application
    redirect_uri: str
    code_challenge: str
    access: str
    project_id: UUID | None
    new_project_name: str | None = None


def name_of(client: Application) -> str:
    """Return what a client calls itself; nobody has verified it."""
    return client.name or UNNAMED


@transaction.atomic
def approve(approval: Approval, code: str) -> Connection:
    """Make the connection and store the code's digest; the code is good once, for a minute (O4, O5).

    Raises:
        NotFound: The project is not this owner's.
        InvalidArguments: The new project's name is not acceptable.
        QuotaExceeded: The owner has as many projects as allowed.
        IntegrityError: The client was forgotten meanwhile (O10).
    """
    actor, client = approval.actor, approval.client
    owner_id = actor.account_id
    if approval.new_project_name is not None:
        project = create_project(owner_id=owner_id, name=approval.new_project_name, actor=actor)
    else:
        project = projects_access.project_of(owner_id, str(approval.project_id))
    connection = Connection.objects.create(
        owner_id=owner_id,
        project=project,
        kind=Connection.Kind.OAUTH,
        name=name_of(client),
        access=approval.access,
        expires_at=Now() + timedelta(seconds=limits().oauth_connection_life_seconds),
        client=client,
        redirect_host=redirects.place_of(approval.redirect_uri)[:255],
    )
    Grant.objects.create(
        user_id=owner_id,
        application=client,
        connection=connection,
        code=digest(code),
        expires=Now() + timedelta(seconds=limits().authorization_code_life_seconds),
        redirect_uri=approval.redirect_uri,
        scope=ALL if WRITE in scopes_of(approval.access) else READ,
        code_challenge=approval.code_challenge,
        code_challenge_method="S256",
        resource=[audience()],
    )
    record_activity(
        owner_id=owner_id,
        project_id=project.pk,
        tag=Tag.CONNECTION_APPROVED,
        actor=actor,
        object_id=connection.pk,
        name=connection.name,
        access=approval.access,
        redirect_host=connection.redirect_host,
    )
    return connection
