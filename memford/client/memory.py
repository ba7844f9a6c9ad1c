"""Reading and writing one project's memory through the Model Context Protocol, asynchronously."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from importlib.metadata import version
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx2
import orjson
from mcp import MCPError
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import CallToolResult, Implementation

from memford.client.errors import ClientError, Forbidden, Impatient, Refused, SignedOut, Unreachable
from memford.client.shapes import Page, Project, Receipt

CALL_TIMEOUT_SECONDS: Final = 30.0
CONNECT_TIMEOUT_SECONDS: Final = 10.0
READINGS_MAX: Final = 5
"""How often a reading of all pages begins anew because the memory changed (T5)."""


class KeyAuth(httpx2.Auth):
    """Sends a project key, and never shows it."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "KeyAuth()"

    def auth_flow(self, request: httpx2.Request) -> Iterator[httpx2.Request]:  # type: ignore[override]
        """Put the key into the request's header."""
        request.headers["Authorization"] = f"Bearer {self._key}"
        yield request


def mcp_url(url: str) -> str:
    """Return the agents' endpoint of a server that is known by its public URL, or by the endpoint itself.

    Raises:
        ClientError: It is no http or https URL.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ClientError(f"{url!r} is not the address of a server; it looks like https://memford.example.com.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/mcp')}/mcp"


class AsyncMemory:
    """The memory that one connection reaches: ``async with AsyncMemory(url, key=…) as memory``.

    ``url`` is the server's public URL, with or without ``/mcp``; instead of a key, any ``auth`` of httpx2 may be given.
    Every method raises a :class:`ClientError`: ``SignedOut``, ``Forbidden``, ``Unreachable``, or ``Refused`` with the
    server's own code.
    """

    def __init__(
        self, url: str, *, key: str | None = None, auth: httpx2.Auth | None = None, mode: str = "auto"
    ) -> None:
        """Prepare a connection; ``mode`` is the SDK's: ``auto`` asks for the newest revision, a revision takes that."""
        self.mcp_url = mcp_url(url)
        self._mode = mode
        if key is None and auth is None:
            raise SignedOut("There is no credential. Sign in by `memford login`, or give a project key.")
        self._auth = auth if key is None else KeyAuth(key)
        self._stack = AsyncExitStack()
        self._client: Client | None = None
        self._status: int | None = None

    async def __aenter__(self) -> Self:
        timeout = httpx2.Timeout(CALL_TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS)
        hooks = {"response": [self._remember_status]}
        http = httpx2.AsyncClient(auth=self._auth, timeout=timeout, event_hooks=hooks)
        me = Implementation(name="memford", version=version("memford"))
        with self.readable():
            try:
                await self._stack.enter_async_context(http)
                transport = streamable_http_client(self.mcp_url, http_client=http)
                client = Client(transport, client_info=me, cache=None, mode=self._mode)
                self._client = await self._stack.enter_async_context(client)
            except BaseException:
                await self._stack.aclose()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The SDK's task group would wrap what the caller raised; it is told of no error. Where the network fails in
        # the middle of a call, the call is only cancelled, and this is where the failure itself comes out.
        with self.readable():
            await self._stack.aclose()

    @property
    def client(self) -> Client:
        """The SDK's client underneath, for what is not offered here."""
        if self._client is None:
            raise RuntimeError("Use `async with` first.")
        return self._client

    @property
    def protocol_version(self) -> str:
        """The protocol's revision that both sides agreed on."""
        return self.client.protocol_version

    async def project(self) -> Project:
        """Return the one project that the connection reaches (T1)."""
        data = await self.call("memory_list_projects", {})
        return Project.model_validate(data["projects"][0])

    async def read_page(self, project_id: str, *, limit: int = 100, cursor: str | None = None) -> Page:
        """Return one page, from the newest notes to older ones; inside it the oldest stands first (T2, T3).

        Raises:
            Refused: ``memory_changed`` where the memory changed since the first page: begin again without a cursor.
        """
        arguments: dict[str, Any] = {"project_id": project_id, "limit": limit}
        if cursor is not None:
            arguments["cursor"] = cursor
        return Page.model_validate(await self.call("memory_read", arguments))

    async def pages(self, project_id: str, *, limit: int = 100) -> AsyncIterator[Page]:
        """Yield the pages of one reading; all are one snapshot (T5).

        Raises:
            Refused: ``memory_changed`` where it changed meanwhile.
        """
        cursor = None
        while True:
            page = await self.read_page(project_id, limit=limit, cursor=cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return

    async def read_all(
        self, project_id: str, *, readings: int = READINGS_MAX, on_page: Callable[[int, int], None] | None = None
    ) -> Page:
        """Return everything as one page, its notes oldest first; begins anew where the memory changes meanwhile (T5).

        ``on_page`` is told after each page how many notes were read, and of how many at most.

        Raises:
            Impatient: It changed in each of ``readings`` readings.
        """
        for _ in range(readings):
            pages: list[Page] = []
            try:
                async for page in self.pages(project_id):
                    pages.append(page)
                    if on_page is not None:
                        on_page(sum(len(each.notes) for each in pages), page.project["notes_count"])
            except Refused as refused:
                if refused.code != "memory_changed":
                    raise
                continue
            notes = [note for page in reversed(pages) for note in page.notes]
            return pages[0].model_copy(update={"notes": notes, "next_cursor": None})
        raise Impatient(f"The memory changed in each of {readings} readings. Try again when fewer people edit it.")

    async def write(
        self, project_id: str, content: str, *, source: str | None = None, checkpoint_id: str | None = None
    ) -> Receipt:
        """Store a note and return its receipt; with a checkpoint it may be repeated and is stored once (T6, T7)."""
        given = {"project_id": project_id, "content": content, "source": source, "checkpoint_id": checkpoint_id}
        arguments = {name: value for name, value in given.items() if value is not None}
        return Receipt.model_validate((await self.call("memory_write", arguments))["note"])

    async def listen(self, uri: str, on_change: Callable[[], Awaitable[None]]) -> None:
        """Call ``on_change`` for each hint that a resource changed, once right away, until the stream ends (R4).

        Raises:
            Unreachable: It broke off; what happened since is hinted at by the next one's first hint.
        """
        with self.readable():
            try:
                async with self.client.listen(resource_subscriptions=[uri]) as hints:
                    async for _ in hints:
                        await on_change()
            except SubscriptionLost as lost:
                raise Unreachable(f"{self.mcp_url} ended the stream.") from lost

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and return its structured result."""
        with self.readable():
            return _structured(await self.client.call_tool(tool, arguments))

    async def _remember_status(self, response: httpx2.Response) -> None:
        self._status = response.status_code

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Turn what the SDK and the network raise into errors that say what to do next."""
        self._status = None
        try:
            yield
        except ClientError:
            raise
        except Exception as error:
            found = _leaf(error)
            if isinstance(found, ClientError):
                raise found from None
            if isinstance(found, MCPError | httpx2.HTTPError | TimeoutError | OSError):
                raise self._meaning(found) from error
            raise

    def _meaning(self, error: Exception) -> ClientError:
        match self._status:
            case 401:
                return SignedOut(f"{self.mcp_url} does not take this credential any more. Sign in again.")
            case 403:
                return Forbidden("This connection may only read. Approve it anew for writing, or use another key.")
            case 413:
                return Refused(f"The text is larger than {self.mcp_url} takes in one request.", code="too_large")
            case 429:
                return Unreachable(f"{self.mcp_url} is asked too often. Try again in a minute.")
            case status if status is not None and status >= 500:
                return Unreachable(f"{self.mcp_url} cannot answer just now ({status}). Try again in a moment.")
        if isinstance(error, MCPError):
            return ClientError(f"{self.mcp_url} answered: {error}.", code="protocol_error")
        reason = str(error).rstrip(".") or type(error).__name__
        return Unreachable(f"{self.mcp_url} cannot be reached: {reason}.")


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _structured(result: CallToolResult) -> dict[str, Any]:
    if not result.is_error and result.structured_content is not None:
        return dict(result.structured_content)
    text = next((block.text for block in result.content if block.type == "text"), "")
    try:
        error = orjson.loads(text)["error"]
        message, code = str(error.pop("message")), str(error.pop("code"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ClientError(f"The server's answer cannot be read: {text[:200]!r}", code="protocol_error") from None
    raise Refused(message, code=code, **error)
