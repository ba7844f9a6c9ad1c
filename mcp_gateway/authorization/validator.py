"""What the library asks us: its rules where they are right, ours where the contract demands more (O3, O4, O6-O9).

django-oauth-toolkit answers for clients and their authentication. Ours is all that is stored, because codes and tokens
are digests here, a refresh issues siblings, and each belongs to a connection.
"""

import re
from typing import Any, Final

from django.utils.crypto import constant_time_compare
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749 import errors

from mcp_gateway.authorization import tokens
from mcp_gateway.authorization.audience import foreign_resource
from mcp_gateway.authorization.clients import note_use
from mcp_gateway.authorization.consent import Approval, approve
from mcp_gateway.authorization.models import Application
from memford.core import scopes
from memford.core.secrets import digest

S256: Final = "S256"
VERIFIER: Final = re.compile(r"[A-Za-z0-9\-._~]{43,128}")


class MemfordValidator(OAuth2Validator):
    """The contract's word on each question of the protocol."""

    # Clients

    def _check_secret(self, provided_secret: str, stored_secret: str) -> bool:
        """Compare digests: a client's secret is random, so a slow hash would only slow the endpoint (O9)."""
        return bool(stored_secret) and constant_time_compare(digest(provided_secret), stored_secret)

    def _load_application(self, client_id: str, request: Request) -> Application | None:
        if "\0" in (client_id or ""):
            # What the database cannot hold was never registered.
            return None
        client: Application | None = super()._load_application(client_id, request)
        if client is not None:
            note_use(client)
        return client

    def validate_grant_type(self, client_id: str, grant_type: str, client: Any, request: Request, *args: Any) -> bool:
        """Every client may exchange a code and refresh (O3, O6)."""
        return grant_type in {"authorization_code", "refresh_token"}

    def validate_response_type(
        self, client_id: str, response_type: str, client: Any, request: Request, *args: Any
    ) -> bool:
        """There is the code flow and no other (RFC 9700).

        Raises:
            UnsupportedResponseTypeError: Anything more is asked for; the library would blame the client's registration.
        """
        if response_type != "code":
            raise errors.UnsupportedResponseTypeError(request=request)
        return True

    # Asking for consent

    def validate_scopes(self, client_id: str, asked: list[str], client: Any, request: Request, *args: Any) -> bool:
        """Take what is known and ignore the rest; nothing known means both (O6)."""
        request.scopes = granted_scopes(asked)
        return True

    def get_default_scopes(self, client_id: str, request: Request, *args: Any) -> list[str]:
        """Return both scopes (O6)."""
        return scopes.ALL.split()

    def get_default_redirect_uri(self, client_id: str, request: Request, *args: Any) -> str:
        """Return the address that a code was issued for, or the client's only one."""
        grant = getattr(request, "grant", None)
        uri: str = request.client.default_redirect_uri if grant is None else grant.redirect_uri
        return uri

    def save_authorization_code(self, client_id: str, code: dict[str, str], request: Request, *args: Any) -> None:
        """Store the owner's approval: a connection, and the code's digest (O5, O9)."""
        approval: Approval = request.approval
        approve(approval, code["code"])

    # Exchanging a code

    def validate_code(self, client_id: str, code: str, client: Any, request: Request, *args: Any) -> bool:
        """Find the code, used or not: whether it was used is decided when it is claimed (O4, O8)."""
        self._check_resource(request)
        request.grant = tokens.grant_of(code, client)
        if request.grant is None or request.grant.connection is None:
            return False
        request.user = request.grant.user
        request.scopes = request.grant.scope.split()
        return True

    def get_code_challenge(self, code: str, request: Request) -> str:
        """Return what the verifier is held against (RFC 7636)."""
        if request.code_verifier is not None and not VERIFIER.fullmatch(request.code_verifier):
            raise errors.InvalidGrantError("The code_verifier is not 43 to 128 unreserved characters.", request=request)
        challenge: str = request.grant.code_challenge
        return challenge

    def get_code_challenge_method(self, code: str, request: Request) -> str:
        """S256 is the only one (O4)."""
        return S256

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, request: Request, *args: Any
    ) -> bool:
        """Compare with the address that the code was sent to, letter by letter (RFC 6749, 4.1.3).

        Raises:
            InvalidGrantError: It is another one; the library would call that an invalid request.
        """
        if redirect_uri != request.grant.redirect_uri:
            raise errors.InvalidGrantError("The code was sent to another redirect_uri.", request=request)
        return True

    def invalidate_authorization_code(self, client_id: str, code: str, request: Request, *args: Any) -> None:
        """Do nothing: the code was claimed together with what it issued, and stays for the detection of replay (O8)."""

    # Refreshing

    def validate_refresh_token(self, refresh_token: str, client: Any, request: Request, *args: Any) -> bool:
        """Find the token; whether it is still good is decided behind its lock (O7)."""
        self._check_resource(request)
        request.stored_refresh_token = tokens.refresh_token_of(refresh_token, client)
        if request.stored_refresh_token is None or request.stored_refresh_token.connection is None:
            return False
        request.user = request.stored_refresh_token.user
        return True

    def get_original_scopes(self, refresh_token: str, request: Request, *args: Any) -> list[str]:
        """Return what the owner approved."""
        return _in_order(scopes.scopes_of(request.stored_refresh_token.connection.access))

    def is_within_original_scope(self, asked: list[str], refresh_token: str, request: Request, *args: Any) -> bool:
        """Give what is known and was approved; the answer's ``scope`` tells (RFC 6749, 6).

        A client that asks again for what it asked at first must not lose its log-in because the owner chose less.
        """
        approved = self.get_original_scopes(refresh_token, request)
        request.scopes = [scope for scope in granted_scopes(asked) if scope in approved] or approved
        return True

    def rotate_refresh_token(self, request: Request) -> bool:
        """Rotate always (O7)."""
        return True

    # Storing and ending

    def save_bearer_token(self, token: dict[str, Any], request: Request, *args: Any, **kwargs: Any) -> None:
        """Store the pair if the code or refresh token that was presented is really good for one.

        Raises:
            InvalidGrantError: It is not.
        """
        pair = tokens.Pair(token["access_token"], token["refresh_token"], token["scope"])
        try:
            if request.grant_type == "authorization_code":
                tokens.exchange_code(request.grant, pair)
            else:
                tokens.refresh(request.stored_refresh_token, pair)
        except tokens.GrantRefused:
            raise errors.InvalidGrantError(
                "It was used, revoked or has ended. Connect again to go on.", request=request
            ) from None

    def revoke_token(self, token: str, token_type_hint: str | None, request: Request, *args: Any) -> None:
        """End the connection behind either token (O8)."""
        tokens.revoke_by_client(token, request.client)

    def is_origin_allowed(self, client_id: str, origin: str, request: Request, *args: Any) -> bool:
        """Leave CORS to the views, which are open to all (O2)."""
        return False

    def _check_resource(self, request: Request) -> None:
        given = [value for name, value in request.decoded_body or () if name == "resource"]
        if (foreign := foreign_resource(given)) is not None:
            raise invalid_target(foreign, request)


def granted_scopes(asked: list[str]) -> list[str]:
    """Return the known ones of those asked for, with what they imply; both where none is known (O6, T11)."""
    if scopes.WRITE in asked or scopes.READ not in asked:
        return scopes.ALL.split()
    return [scopes.READ]


def _in_order(given: frozenset[str]) -> list[str]:
    return [scope for scope in scopes.ALL.split() if scope in given]


def invalid_target(resource: str, request: Request) -> errors.CustomOAuth2Error:
    """Return the error for a resource that is not ours (RFC 8707)."""
    shown = resource[:200].encode("ascii", "replace").decode()
    printable = "".join(c if " " <= c <= "~" and c not in '"\\' else "?" for c in shown)
    description = f"Memford serves one resource, and it is not {printable}."
    return errors.CustomOAuth2Error("invalid_target", description, request=request)
