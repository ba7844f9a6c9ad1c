"""Client ID metadata documents, fetched by the library's guarded fetcher: https, public addresses, bounded (O3)."""

from typing import Any

from oauth2_provider.cimd import CIMDError, SafeMetadataFetcher

from mcp_gateway.authorization.clients import client_name
from mcp_gateway.authorization.redirects import URIS_MAX, problem_of


class DocumentFetcher(SafeMetadataFetcher):
    """Takes documents that name several grants, as clients of several servers do; the library wants exactly one."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        """Return the document with what is ours of it, and how many seconds it stays good.

        Raises:
            CIMDError: It cannot be fetched, or a client of it could not be served.
        """
        document, life_seconds = super().fetch(client_id)
        return as_served(document), life_seconds


def as_served(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the one grant that the library is to see, and a name fit to be shown.

    Raises:
        CIMDError: It lacks the code grant, or a redirect URI of it could not be registered.
    """
    grants = document.get("grant_types", ["authorization_code"])
    if not isinstance(grants, list) or "authorization_code" not in grants:
        raise CIMDError("the document's grant_types lack authorization_code")
    uris = document.get("redirect_uris")
    if not isinstance(uris, list) or len(uris) > URIS_MAX or any(problem_of(uri) is not None for uri in uris):
        raise CIMDError("the document's redirect_uris could not be registered")
    return {
        **document,
        "client_name": client_name(document.get("client_name")),
        "grant_types": ["authorization_code", "refresh_token"],
    }
