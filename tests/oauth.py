"""An OAuth client and its owner's browser, by bare HTTP, for what the official clients would never send."""

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore

from accounts.models import Owner
from mcp_gateway.connections.models import Connection
from tests.cast import Person

REDIRECT = "http://127.0.0.1:49152/callback"
CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def login_cookie(owner: Owner) -> str:
    """Sign an owner in and return the cookie's value."""
    session = SessionStore()
    session[SESSION_KEY] = str(owner.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = owner.get_session_auth_hash()
    session.create()
    assert session.session_key is not None
    return session.session_key


def new_verifier() -> tuple[str, str]:
    """Return a verifier and its S256 challenge."""
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    return verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def query_of(location: str) -> dict[str, str]:
    """Return the parameters that an address carries, each once."""
    values = parse_qs(urlsplit(location).query, keep_blank_values=True)
    assert all(len(value) == 1 for value in values.values()), location
    return {name: value[0] for name, value in values.items()}


def send(method: str, url: str, **more: Any) -> httpx2.Response:
    """Send one request over a connection of its own; no redirect is followed."""
    with httpx2.Client(timeout=30, verify=False) as client:
        return client.request(method, url, **more)


@dataclass
class Browser:
    """An owner's browser, signed in or not; it follows no redirect by itself."""

    url: str
    owner: Owner | None = None
    cookies: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.cookies = {} if self.owner is None else {settings.SESSION_COOKIE_NAME: login_cookie(self.owner)}

    def send(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """Send a request with the cookies held so far, and keep those that come back."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"Cookie": cookie, **more.pop("headers", {})}
        answer = send(method, f"{self.url}{path}", headers=headers, **more)
        self.cookies |= dict(answer.cookies)
        return answer

    def get(self, path: str) -> httpx2.Response:
        """Open an address."""
        return self.send("GET", path)

    def decide(self, path: str, **fields: str) -> httpx2.Response:
        """Open the consent page and send its form."""
        page = self.get(path)
        assert page.status_code == 200, page.text
        token = CSRF.search(page.text)
        assert token is not None, page.text
        form = {"csrfmiddlewaretoken": token[1], **fields}
        return self.send("POST", path, data=form, headers={"Origin": self.url})


def _present(fields: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value is not None}


@dataclass
class OAuthClient:
    """A registered client, and what it holds."""

    url: str
    redirect_uri: str = REDIRECT
    metadata: dict[str, Any] = field(default_factory=dict)
    registered: dict[str, Any] = field(init=False)
    verifier: str = ""

    def __post_init__(self) -> None:
        asked = {
            "redirect_uris": [self.redirect_uri],
            "client_name": "Test client",
            "token_endpoint_auth_method": "none",
            **self.metadata,
        }
        answer = send("POST", f"{self.url}/register", json=asked)
        assert answer.status_code == 201, answer.text
        self.registered = answer.json()

    @property
    def id(self) -> str:
        """The client's id."""
        return str(self.registered["client_id"])

    def ask(self, **changes: str | None) -> str:
        """Return the path of an authorization request; ``None`` leaves a parameter out."""
        self.verifier, challenge = new_verifier()
        parameters: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "state": "a state & more",
            "resource": f"{self.url}/mcp",
            **changes,
        }
        return f"/authorize?{urlencode(_present(parameters))}"

    def code(self, person: Person, *, access: str = "read_write", **changes: str | None) -> str:
        """Ask, let the owner approve for their project, and return the code."""
        answer = Browser(self.url, person.owner).decide(
            self.ask(**changes), project=str(person.project.pk), access=access, decision="approve"
        )
        assert answer.status_code == 303, answer.text
        return query_of(answer.headers["location"])["code"]

    def token(self, **fields: str | None) -> httpx2.Response:
        """Call the token endpoint; public clients name themselves."""
        given: dict[str, str | None] = {"client_id": self.id, **fields}
        return send("POST", f"{self.url}/token", data=_present(given))

    def exchange(self, code: str, **fields: str | None) -> httpx2.Response:
        """Exchange a code."""
        given = {"code": code, "code_verifier": self.verifier, "redirect_uri": self.redirect_uri, **fields}
        return self.token(grant_type="authorization_code", **given)

    def refresh(self, refresh_token: str, **fields: str | None) -> httpx2.Response:
        """Present a refresh token."""
        return self.token(grant_type="refresh_token", refresh_token=refresh_token, **fields)

    def revoke(self, token: str, **fields: str | None) -> httpx2.Response:
        """Revoke a token."""
        given: dict[str, str | None] = {"client_id": self.id, "token": token, **fields}
        return send("POST", f"{self.url}/revoke", data=_present(given))

    def connect(self, person: Person, **options: Any) -> dict[str, Any]:
        """Go through the whole flow and return the token answer."""
        answer = self.exchange(self.code(person, **options))
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        return tokens

    @property
    def connection(self) -> Connection:
        """The client's one connection."""
        return Connection.objects.get(client__client_id=self.id)

    def works(self, access_token: str) -> bool:
        """Say whether an access token is let in."""
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        answer = send("POST", f"{self.url}/mcp", json=ping, headers={"Authorization": f"Bearer {access_token}"})
        assert answer.status_code in {200, 401}, answer.text
        return answer.status_code == 200
