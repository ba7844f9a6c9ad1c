"""Hearing of changes for as long as one likes, whatever the network and the server do meanwhile (R4)."""

import itertools
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from memford.client.errors import Unreachable
from memford.client.memory import AsyncMemory

PAUSES_SECONDS: Final = (0.2, 0.5, 1, 2, 5, 15)
STEADY_SECONDS: Final = 30
"""After a stream that lived so long, the next one is tried at once again."""


def uri_of(project_id: str) -> str:
    """Return the address of a project's notes (R1)."""
    return f"memory://projects/{project_id}/notes"


async def watch(open_memory: Callable[[], AsyncMemory], uri: str, on_change: Callable[[], Awaitable[None]]) -> None:
    """Call ``on_change`` for each hint, and after each time that the stream broke off; it does not end by itself.

    Raises:
        SignedOut: The credential ended.
        ClientError: The server does not know the resource.
    """
    pauses = itertools.chain(PAUSES_SECONDS, itertools.repeat(PAUSES_SECONDS[-1]))
    while True:
        begin = anyio.current_time()
        try:
            async with open_memory() as memory:
                await memory.listen(uri, on_change)
        except Unreachable:
            pass
        if anyio.current_time() - begin > STEADY_SECONDS:
            pauses = itertools.chain(PAUSES_SECONDS, itertools.repeat(PAUSES_SECONDS[-1]))
        await anyio.sleep(next(pauses))
