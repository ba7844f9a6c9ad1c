"""The library's protocol engine, set up once: the code flow and refreshing, and nothing else (RFC 9700)."""

from functools import cache
from typing import Any

from oauth2_provider.oauth2_backends import OAuthLibCore
from oauthlib.oauth2 import WebApplicationServer

from mcp_gateway.authorization.validator import MemfordValidator
from memford.core.limits import limits
from memford.core.secrets import ACCESS_TOKEN_PREFIX, REFRESH_TOKEN_PREFIX, new_secret


def _access_token(request: Any, refresh_token: bool = False) -> str:
    return new_secret(ACCESS_TOKEN_PREFIX)


def _refresh_token(request: Any, refresh_token: bool = False) -> str:
    return new_secret(REFRESH_TOKEN_PREFIX)


@cache
def engine() -> Any:
    """Return the engine; it keeps nothing of a request."""
    server = WebApplicationServer(
        MemfordValidator(),
        token_generator=_access_token,
        refresh_token_generator=_refresh_token,
        token_expires_in=limits().access_token_life_seconds,
    )
    return OAuthLibCore(server)
