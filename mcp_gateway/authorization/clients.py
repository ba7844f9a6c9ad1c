"""OAuth clients: registration (RFC 7591) and the trace of their use (O3, O10)."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from mcp_gateway.authorization import redirects
from mcp_gateway.authorization.models import Application
from memford.core import scopes
from memford.core.database import SYSTEM
from memford.core.secrets import digest, new_secret

CLIENT_ID_PREFIX: Final = "mfc_"
CLIENT_SECRET_PREFIX: Final = "mfs_"  # noqa: S105
NAME_MAX_CHARS: Final = 120
USE_NOTED_EVERY: Final = timedelta(days=1)
PUBLIC: Final = "none"
AUTH_METHODS: Final = (PUBLIC, "client_secret_post", "client_secret_basic")
GRANT_TYPES: Final = ("authorization_code", "refresh_token")
ECHO_MAX_CHARS: Final = 200


class RegistrationRefused(Exception):
    """The metadata cannot be registered; ``error`` is RFC 7591's code, ``description`` says what to change."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error
        self.description = description


@dataclass(frozen=True, slots=True)
class Registered:
    """A new client, and the answer that is shown this once."""

    client: Application
    answer: dict[str, Any]

    def __repr__(self) -> str:
        return f"Registered({self.client.client_id})"


def register_client(metadata: Mapping[str, Any]) -> Registered:
    """Register what a client says of itself, and return what was really registered (O3).

    Raises:
        RegistrationRefused: Its redirect URIs, grant types, response types or way to authenticate cannot be served.
    """
    uris = _redirect_uris(metadata)
    method = _auth_method(metadata)
    grant_types = _grant_types(metadata)
    _check_response_types(metadata)
    name = client_name(metadata.get("client_name"))
    secret = None if method == PUBLIC else new_secret(CLIENT_SECRET_PREFIX)
    client = Application.objects.create(
        client_id=new_secret(CLIENT_ID_PREFIX),
        client_secret="" if secret is None else digest(secret),
        hash_client_secret=False,
        client_type=Application.CLIENT_PUBLIC if secret is None else Application.CLIENT_CONFIDENTIAL,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris=" ".join(uris),
        name=name,
        registration_source=Application.RegistrationSource.DCR,
    )
    answer: dict[str, Any] = {
        "client_id": client.client_id,
        "client_id_issued_at": int(time.time()),
        "redirect_uris": uris,
        "token_endpoint_auth_method": method,
        "grant_types": grant_types,
        "response_types": ["code"],
        "scope": scopes.ALL,
    }
    if name:
        answer["client_name"] = name
    application_type = metadata.get("application_type")
    if isinstance(application_type, str) and len(application_type) <= ECHO_MAX_CHARS:
        answer["application_type"] = application_type
    if secret is not None:
        answer |= {"client_secret": secret, "client_secret_expires_at": 0}
    return Registered(client, answer)


def _redirect_uris(metadata: Mapping[str, Any]) -> list[str]:
    uris = metadata.get("redirect_uris")
    if not isinstance(uris, list) or not uris:
        raise RegistrationRefused("invalid_redirect_uri", "Give redirect_uris as a list of at least one address.")
    if len(uris) > redirects.URIS_MAX:
        raise RegistrationRefused("invalid_redirect_uri", f"Give at most {redirects.URIS_MAX} redirect_uris.")
    for number, uri in enumerate(uris):
        if (problem := redirects.problem_of(uri)) is not None:
            raise RegistrationRefused("invalid_redirect_uri", f"redirect_uris[{number}] {problem}.")
    return list(dict.fromkeys(uris))


def _auth_method(metadata: Mapping[str, Any]) -> str:
    method = metadata.get("token_endpoint_auth_method")
    if method is None:
        # RFC 7591's default; the answer says so and holds the secret.
        return "client_secret_basic"
    if method not in AUTH_METHODS:
        raise RegistrationRefused(
            "invalid_client_metadata", f"token_endpoint_auth_method must be one of {', '.join(AUTH_METHODS)}."
        )
    return str(method)


def _grant_types(metadata: Mapping[str, Any]) -> list[str]:
    asked = metadata.get("grant_types")
    if asked is None:
        return list(GRANT_TYPES)
    if not isinstance(asked, list) or "authorization_code" not in asked:
        raise RegistrationRefused("invalid_client_metadata", "grant_types must hold authorization_code.")
    # A refresh token is always issued (O6), so it is registered too.
    return list(GRANT_TYPES)


def _check_response_types(metadata: Mapping[str, Any]) -> None:
    asked = metadata.get("response_types")
    if asked is not None and (not isinstance(asked, list) or "code" not in asked):
        raise RegistrationRefused("invalid_client_metadata", "response_types must hold code.")


def client_name(value: object) -> str:
    """Return a client's own name for people to read: printable, one line, and not longer than can be stored.

    What turns the direction of writing is left out, because it could make a name read as something else.
    """
    if not isinstance(value, str):
        return ""
    # What is no character of a printed line becomes a space; format characters (U+202E and the like) are not printable.
    printable = "".join(c if c.isprintable() else " " for c in value)
    return " ".join(printable.split())[:NAME_MAX_CHARS]


def note_use(client: Application) -> None:
    """Note, at most once a day, that a client is in use, so that it is not forgotten (O10).

    The library loads a client several times for one request; the row that it has tells whether there is anything to do.
    """
    if client.last_used_at is not None and client.last_used_at > timezone.now() - USE_NOTED_EVERY:
        return
    is_stale = Q(last_used_at=None) | Q(last_used_at__lt=Now() - USE_NOTED_EVERY)
    Application.objects.using(SYSTEM).filter(is_stale, pk=client.pk).update(last_used_at=Now())
    client.last_used_at = timezone.now()
