"""Signing in by OAuth, and staying signed in, with the SDK's provider (C1, C4)."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

import anyio.to_thread
import httpx2
from filelock import BaseFileLock, FileLock
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from memford.client.credentials import Credentials, Login, Secrets
from memford.client.errors import SignedOut, Unreachable
from memford.client.memory import mcp_url

CLIENT_NAME: Final = "Memford in a terminal"
EARLY_SECONDS: Final = 30
"""How long before its end an access token is renewed, so that it does not end on the way."""


def _metadata(redirect_uri: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        client_name=CLIENT_NAME,
        redirect_uris=[AnyUrl(redirect_uri)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",  # noqa: S106  # the name of a method
    )


class _Kept:
    """The SDK's storage, in memory: what a flow got is stored by who began it."""

    def __init__(self, client: OAuthClientInformationFull | None = None, tokens: OAuthToken | None = None) -> None:
        self.client = client
        self.tokens = tokens

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class NewLogin(OAuthClientProvider):
    """The first sign-in at a server: discovery, registration, the browser, and the exchange, all by the SDK."""

    def __init__(
        self,
        url: str,
        redirect_uri: str,
        open_browser: Callable[[str], Awaitable[None]],
        await_return: Callable[[], Awaitable[AuthorizationCodeResult]],
    ) -> None:
        self.kept = _Kept()
        super().__init__(mcp_url(url), _metadata(redirect_uri), self.kept, open_browser, await_return)

    @property
    def access(self) -> str:
        """What the owner allowed."""
        scopes = (self.kept.tokens.scope or "").split() if self.kept.tokens else []
        return "read_write" if "memory:write" in scopes else "read_only"

    @property
    def secrets(self) -> Secrets:
        """What is to be stored."""
        if self.kept.client is None or self.kept.tokens is None:
            raise SignedOut("The sign-in did not end. Try again.")
        return _secrets(self.kept.client, self.kept.tokens, self.context.token_expiry_time)


def _secrets(client: OAuthClientInformationFull, tokens: OAuthToken, expires_at: float | None) -> Secrets:
    return Secrets(
        client=client.model_dump(mode="json", exclude_none=True),
        tokens=tokens.model_dump(mode="json", exclude_none=True),
        expires_at=(expires_at or 0) - EARLY_SECONDS,
    )


class LoginAuth(OAuthClientProvider):
    """Speaks for a stored login, and renews it.

    Of several processes one refreshes: under the login's file lock the store is read again, and whoever finds a fresh
    token there takes that. The SDK builds the request and reads the answer; its own flow would forget across a restart
    when the token ends, and ask the owner.
    """

    def __init__(self, credentials: Credentials, login: Login) -> None:
        super().__init__(mcp_url(login.url), _metadata("http://127.0.0.1/callback"), _Kept())
        self._credentials = credentials
        self._login = login

    def __repr__(self) -> str:
        return f"LoginAuth({self._login.id})"

    # An event stream is handed on as it is; the short answers of the token endpoint are read where they are needed.
    requires_response_body = False

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        used = None
        secrets = await self._load()
        if secrets.is_fresh:
            used = _sign(request, secrets)
            response = yield request
            if response.status_code != 401:
                return
        # It ended, or was ended: renewed once, unless another task or process has done so meanwhile.
        async with self.context.lock:
            lock = await self._acquire()
            try:
                secrets = await self._load()
                if not secrets.is_fresh or secrets.tokens.get("access_token") == used:
                    self.context.protocol_version = request.headers.get("MCP-Protocol-Version")
                    self._use(secrets)
                    answer = yield await self._refresh_token()
                    secrets = await self._renewed(answer)
            finally:
                lock.release()
        _sign(request, secrets)
        response = yield request
        if response.status_code == 401:
            raise self._ended()

    async def _load(self) -> Secrets:
        secrets = await anyio.to_thread.run_sync(self._credentials.secrets, self._login)
        if secrets is None:
            raise self._ended()
        return secrets

    def _use(self, secrets: Secrets) -> None:
        self.context.current_tokens = OAuthToken.model_validate(secrets.tokens)
        self.context.client_info = OAuthClientInformationFull.model_validate(secrets.client)

    async def _acquire(self) -> BaseFileLock:
        lock: FileLock = self._credentials.lock_of(self._login)
        await anyio.to_thread.run_sync(lock.acquire)
        return lock

    async def _renewed(self, answer: httpx2.Response) -> Secrets:
        if answer.status_code >= 500 or answer.status_code == 429:
            raise Unreachable(f"{self._login.url} cannot renew the sign-in just now ({answer.status_code}). Try again.")
        client = self.context.client_info
        if not await self._handle_refresh_response(answer) or self.context.current_tokens is None or client is None:
            raise self._ended()
        renewed = _secrets(client, self.context.current_tokens, self.context.token_expiry_time)
        await anyio.to_thread.run_sync(self._credentials.renew, self._login, renewed)
        return renewed

    def _ended(self) -> SignedOut:
        url, name = self._login.url, self._login.project_name
        return SignedOut(f"The login for “{name}” at {url} has ended. Sign in again: memford login --url {url}")


def _sign(request: httpx2.Request, secrets: Secrets) -> str:
    token = str(secrets.tokens.get("access_token", ""))
    request.headers["Authorization"] = f"Bearer {token}"
    return token
