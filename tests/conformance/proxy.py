"""A loopback proxy that presents a key, because the suite presents none.

Everything else passes as it came, in both directions and unbuffered: the suite's own Host and Origin too, which the
server must see to refuse what is not its own. Each connection carries one request, so nothing is framed here.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

HEAD_MAX_BYTES: Final = 65_536
CHUNK_BYTES: Final = 65_536


@asynccontextmanager
async def bearer_proxy(port: int, key: str) -> AsyncIterator[str]:
    """Stand before the server on ``port`` with a key, and yield the proxy's own origin."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await _relay(reader, writer, port, key)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=HEAD_MAX_BYTES)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        # Streams that are still open end with the event loop; nobody waits for them.
        server.close()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, key: str) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        server_writer.write(with_key(head, key))
        ways = [
            asyncio.create_task(_pass_on(reader, server_writer)),
            asyncio.create_task(_pass_on(server_reader, writer)),
        ]
        # Whoever hangs up ends both ways: a client that leaves a stream, or a server that has answered.
        _, pending = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in pending:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
    finally:
        server_writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK_BYTES):
        writer.write(data)
        await writer.drain()


def with_key(head: bytes, key: str) -> bytes:
    """Return a request's head with the key, and with the word that the connection ends after it."""
    request_line, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in {b"connection", b"authorization"}]
    added = [b"Connection: close", b"Authorization: Bearer " + key.encode()]
    return b"\r\n".join([request_line, *kept, *added]) + b"\r\n\r\n"
