"""Reading an authorization request, and answering it at the client's redirect URI (O3, O4, RFC 6749 4.1, RFC 9207)."""

import re
from dataclasses import dataclass
from typing import Any, Final

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.utils.encoding import iri_to_uri
from oauthlib.common import add_params_to_uri
from oauthlib.oauth2.rfc6749 import errors

from mcp_gateway.authorization.audience import foreign_resource
from mcp_gateway.authorization.consent import Approval
from mcp_gateway.authorization.engine import engine
from mcp_gateway.authorization.metadata import issuer
from mcp_gateway.authorization.models import Application
from mcp_gateway.authorization.validator import S256, invalid_target

# The digest of a verifier in base64url (RFC 7636, 4.2).
CHALLENGE: Final = re.compile(r"[A-Za-z0-9\-_]{43}")


@dataclass(frozen=True, slots=True)
class Asked:
    """An authorization request that may be put before the owner."""

    uri: str
    client: Application
    redirect_uri: str
    scopes: tuple[str, ...]
    state: str | None
    code_challenge: str


class Unanswerable(Exception):
    """Nobody may be sent back: the client or its address is not known. ``error`` is for a person to read."""

    def __init__(self, error: errors.FatalClientError | None) -> None:
        super().__init__()
        self.error = error

    @property
    def is_unknown_client(self) -> bool:
        """Whether the client was never registered, or was forgotten (O10)."""
        return isinstance(self.error, errors.InvalidClientIdError)


class Refused(Exception):
    """The request is at fault, and the client's own address is to hear of it."""

    def __init__(self, error: errors.OAuth2Error) -> None:
        super().__init__()
        # An answer in the fragment is not offered, not even for an error.
        error.response_mode = None
        self.redirect_uri: str = error.redirect_uri
        self.client_id: str = error.client_id
        self.location = _with_issuer(error.in_uri(error.redirect_uri))


def read_request(request: HttpRequest) -> Asked:
    """Read the request from the address, never from a form's body.

    Raises:
        Unanswerable: The client or the redirect URI is not registered, or the query cannot be read.
        Refused: Anything else is wrong with it.
    """
    core = engine()
    try:
        uri = core._get_escaped_full_path(request)
        scopes, info = core.server.validate_authorization_request(uri, "GET", None, {})
        asked = info["request"]
        _check(request, asked)
    except errors.FatalClientError as error:
        raise Unanswerable(error) from None
    except errors.OAuth2Error as error:
        raise Refused(error) from None
    except (ValueError, SuspiciousOperation):
        raise Unanswerable(None) from None
    return Asked(uri, asked.client, info["redirect_uri"], tuple(scopes), info["state"], asked.code_challenge)


def _check(request: HttpRequest, asked: Any) -> None:
    """Ask for what the library lets pass: S256 alone, and this service's own resource (O4)."""
    problem = None
    if asked.code_challenge_method != S256:
        problem = errors.InvalidRequestError("code_challenge_method must be S256.", request=asked)
    elif CHALLENGE.fullmatch(asked.code_challenge) is None:
        problem = errors.InvalidRequestError("code_challenge must be 43 characters of base64url.", request=asked)
    elif (asked.response_mode or "query") != "query":
        problem = errors.InvalidRequestError("response_mode must be query.", request=asked)
    elif (foreign := foreign_resource(request.GET.getlist("resource"))) is not None:
        problem = invalid_target(foreign, asked)
    if problem is not None:
        raise problem


def approved(asked: Asked, approval: Approval) -> str:
    """Store the approval and return where the browser goes with its code (O4, O5)."""
    credentials = {"approval": approval, "redirect_uri": asked.redirect_uri, "state": asked.state}
    headers, _, _ = engine().server.create_authorization_response(
        asked.uri, "GET", None, {}, list(asked.scopes), credentials
    )
    return _with_issuer(headers["Location"])


def denied(asked: Asked) -> str:
    """Return where the browser goes when the owner said no (O5)."""
    error = errors.AccessDeniedError("The owner did not approve.", state=asked.state)
    return _with_issuer(error.in_uri(asked.redirect_uri))


def _with_issuer(location: str) -> str:
    """Say who answers, so that a client cannot be led to confuse two servers (RFC 9207)."""
    uri: str = add_params_to_uri(location, [("iss", issuer())])
    return uri


class ReturnToClient(HttpResponse):
    """A redirect to a validated address of any scheme; 303, so that no form is ever posted on (W4, RFC 9700 4.12)."""

    status_code = 303

    def __init__(self, location: str) -> None:
        super().__init__()
        self["Location"] = iri_to_uri(location)
