"""What an export is kept in between the database and whoever fetches it."""

import asyncio
import io
import tempfile
from collections.abc import AsyncIterator, Iterator
from typing import IO, Any, Final, Self

IN_MEMORY_MAX_BYTES: Final = 1_048_576
CHUNK_BYTES: Final = 65_536


class Spool(Iterator[bytes]):
    """A finished export in a temporary file without a name, read in chunks of 64 KiB; it closes itself at its end.

    The file exists so that nobody's slow download holds a transaction: it is filled inside one, and read outside.
    A reader that leaves early calls ``close``; a file that nobody holds any more closes itself.
    """

    def __init__(self) -> None:
        # Closed by whoever reads it, later than this function ends.
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY_MAX_BYTES)  # noqa: SIM115
        self.size = 0

    def write(self, piece: bytes) -> None:
        """Add to the end."""
        self.file.write(piece)

    def rewind(self) -> Self:
        """Be read from the beginning; what was written is now all, and ``size`` says how much."""
        self.size = self.file.seek(0, io.SEEK_END)
        self.file.seek(0)
        return self

    def __next__(self) -> bytes:
        """Return the next chunk, and close at the end."""
        chunk = b"" if self.file.closed else self.file.read(CHUNK_BYTES)
        if not chunk:
            self.close()
            raise StopIteration
        return chunk

    def close(self) -> None:
        """Give the file back; to close twice is fine."""
        self.file.close()

    def __del__(self) -> None:
        """Close a file that nobody reads any more."""
        self.close()

    def as_async(self) -> "AsyncSpool":
        """Return the same for an event loop: Django would read a plain iterator to its end before it sends."""
        return AsyncSpool(self)


class AsyncSpool(AsyncIterator[bytes]):
    """A spool for ``StreamingHttpResponse`` under ASGI; Django calls ``close`` however the answer ends."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.size = spool.size

    async def __anext__(self) -> bytes:
        """Return the next chunk, read in a thread."""
        chunk: Any = await asyncio.to_thread(next, self._spool, b"")
        if not chunk:
            raise StopAsyncIteration
        return bytes(chunk)

    def close(self) -> None:
        """Give the file back."""
        self._spool.close()
