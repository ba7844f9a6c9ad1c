"""``/api/tokens`` and ``/api/connections``: what reaches a project, seen and ended by its owner (A5, A6)."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mcp_gateway.connections.access import connection_of
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.selectors import list_connections
from mcp_gateway.connections.services import EXPIRES_IN_MAX_DAYS, NAME_MAX_CHARS, create_key, revoke_connection
from memford.core.api.bodies import Body, Number, Text
from memford.core.api.pages import PARAMETERS, by_age
from memford.core.api.views import CHANGED, READ, OwnerView, problems
from memford.core.errors import NotFound

CURSOR = serializers.CharField(allow_null=True)


class NewToken(Body):
    """A new project key."""

    project_id = Text()
    name = Text(max_length=NAME_MAX_CHARS)
    access = serializers.ChoiceField(choices=Connection.Access.choices)
    expires_in_days = Number(min_value=1, max_value=EXPIRES_IN_MAX_DAYS, required=False, allow_null=True)


class TokenShape(serializers.ModelSerializer[Connection]):
    """A project key, without its secret (A5)."""

    prefix = serializers.CharField(source="key_prefix")
    project_id = serializers.UUIDField()

    class Meta:
        model = Connection
        fields = [
            "id",
            "project_id",
            "name",
            "access",
            "prefix",
            "created_at",
            "last_used_at",
            "expires_at",
            "revoked_at",
            "revoked_reason",
        ]
        read_only_fields = fields


class IssuedTokenShape(TokenShape):
    """A project key with its secret, shown this once."""

    key = serializers.CharField()

    class Meta(TokenShape.Meta):
        fields = [*TokenShape.Meta.fields, "key"]
        read_only_fields = fields


class ConnectionShape(serializers.ModelSerializer[Connection]):
    """An OAuth connection (A6)."""

    client_name = serializers.CharField(source="name")
    project_id = serializers.UUIDField()
    renewal_limit = serializers.DateTimeField(source="expires_at")

    class Meta:
        model = Connection
        fields = [
            "id",
            "project_id",
            "client_name",
            "redirect_host",
            "access",
            "created_at",
            "last_used_at",
            "renewal_limit",
            "revoked_at",
            "revoked_reason",
        ]
        read_only_fields = fields


class Tokens(OwnerView):
    """The owner's project keys."""

    @extend_schema(
        operation_id="listTokens",
        parameters=PARAMETERS,
        responses={
            200: inline_serializer("Tokens", {"tokens": TokenShape(many=True), "next_cursor": CURSOR}),
            **problems(400),
        },
    )
    def get(self, request: Request) -> Response:
        """List keys, ended ones too, newest first."""
        keys = list_connections(owner_id=self.owner_id).filter(kind=Connection.Kind.KEY)
        tokens, cursor = by_age(request, keys, "tokens", newest_first=True)
        return Response({"tokens": TokenShape(tokens, many=True).data, "next_cursor": cursor})

    @extend_schema(operation_id="createToken", request=NewToken, responses={201: IssuedTokenShape, **CHANGED})
    def post(self, request: Request) -> Response:
        """Make a key; its secret is in this answer alone."""
        issued = create_key(owner_id=self.owner_id, actor=self.actor, **self.read_body(NewToken))
        body = {**TokenShape(issued.connection).data, "key": issued.secret}
        return Response(body, status=201, headers={"Location": f"/api/tokens/{issued.connection.pk}"})


class OneToken(OwnerView):
    """One project key."""

    @extend_schema(operation_id="getToken", responses={200: TokenShape, **READ})
    def get(self, request: Request, token_id: str) -> Response:
        """Return the key without its secret."""
        return Response(TokenShape(_of(self, token_id, Connection.Kind.KEY)).data)

    @extend_schema(operation_id="revokeToken", responses={204: None, **problems(403, 404)})
    def delete(self, request: Request, token_id: str) -> Response:
        """Revoke it at once."""
        return _revoke(self, token_id, Connection.Kind.KEY)


class Connections(OwnerView):
    """The owner's OAuth connections."""

    @extend_schema(
        operation_id="listConnections",
        parameters=PARAMETERS,
        responses={
            200: inline_serializer("Connections", {"connections": ConnectionShape(many=True), "next_cursor": CURSOR}),
            **problems(400),
        },
    )
    def get(self, request: Request) -> Response:
        """List connections, ended ones too, newest first."""
        connected = list_connections(owner_id=self.owner_id).filter(kind=Connection.Kind.OAUTH)
        connections, cursor = by_age(request, connected, "connections", newest_first=True)
        return Response({"connections": ConnectionShape(connections, many=True).data, "next_cursor": cursor})


class OneConnection(OwnerView):
    """One OAuth connection."""

    @extend_schema(operation_id="getConnection", responses={200: ConnectionShape, **READ})
    def get(self, request: Request, connection_id: str) -> Response:
        """Return the connection."""
        return Response(ConnectionShape(_of(self, connection_id, Connection.Kind.OAUTH)).data)

    @extend_schema(operation_id="disconnect", responses={204: None, **problems(403, 404)})
    def delete(self, request: Request, connection_id: str) -> Response:
        """Disconnect it at once."""
        return _revoke(self, connection_id, Connection.Kind.OAUTH)


def _of(view: OwnerView, connection_id: str, kind: str) -> Any:
    try:
        connection = connection_of(view.owner_id, UUID(connection_id))
    except ValueError:
        raise NotFound from None
    if connection.kind != kind:
        raise NotFound
    return connection


def _revoke(view: OwnerView, connection_id: str, kind: str) -> Response:
    connection = _of(view, connection_id, kind)
    revoke_connection(owner_id=view.owner_id, connection_id=connection.pk, actor=view.actor)
    return Response(status=204)
