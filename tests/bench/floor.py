"""The floor: the least a server can do to give Memford's answers, written the way a good engineer would.

A bare ASGI application on the same gunicorn, worker and configuration. It looks the credential up with one
statement. To read it fetches the notes with a second one and prints Memford's JSON with orjson. To write it
runs one transaction (begin, update of the project's counters, insert of the note, commit) and prints the
receipt. Sixteen open asynchronous database connections with prepared statements; no framework, no validation.
"""

import asyncio
import hashlib
import os
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson
import psycopg
from psycopg.rows import TupleRow

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Database = psycopg.AsyncConnection[TupleRow]

CONNECTIONS = 16

_TIME = """to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""

LOOK_UP = f"""
SELECT c.id::text, c.kind, c.name, c.owner_id::text, c.project_id::text,
       p.name, p.description, p.notes_count, p.memory_revision, p.standards_revision,
       {_TIME.format("p.created_at")}
  FROM connections_connection c
  JOIN projects_project p ON p.id = c.project_id AND p.deleted_at IS NULL
  JOIN accounts_owner o ON o.id = c.owner_id AND o.is_active
 WHERE c.key_digest = %s AND c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now())
"""

NOTES = f"""
SELECT id::text, content, source, revision, {_TIME.format("received_at")}, {_TIME.format("updated_at")},
       writer_kind, writer_id::text, writer_name, writer_account_id::text
  FROM projects_note
 WHERE owner_id = %s AND project_id = %s AND status = 'active'
 ORDER BY seq DESC LIMIT %s
"""

COUNT = f"""
UPDATE projects_project
   SET last_seq = last_seq + 1, memory_revision = memory_revision + 1, notes_count = notes_count + 1,
       stored_bytes = stored_bytes + %s
 WHERE id = %s AND owner_id = %s
RETURNING last_seq, {_TIME.format("now()")}
"""

INSERT = """
INSERT INTO projects_note
       (id, owner_id, project_id, seq, content, content_bytes, source, status, revision, received_at, updated_at,
        writer_kind, writer_id, writer_name, writer_account_id, checkpoint_id,
        changed_by_kind, changed_by_id, changed_by_name)
VALUES (%s, %s, %s, %s, %s, %s, NULL, 'active', 1, now(), now(), %s, %s, %s, %s, %s, %s, %s, %s)
"""


class Pool:
    """Open database connections, the last one used first."""

    def __init__(self) -> None:
        self._free: asyncio.LifoQueue[Database] = asyncio.LifoQueue()

    async def open(self) -> None:
        """Connect them all; every statement is prepared at its first use."""
        for _ in range(CONNECTIONS):
            connection = await psycopg.AsyncConnection.connect(
                os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=0
            )
            self._free.put_nowait(connection)

    async def close(self) -> None:
        """Close those that are free."""
        while not self._free.empty():
            await self._free.get_nowait().close()

    async def take(self) -> Database:
        """Return a connection that nobody uses."""
        return await self._free.get()

    def give_back(self, connection: Database) -> None:
        """Let others use it."""
        self._free.put_nowait(connection)


_pool = Pool()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request."""
    if scope["type"] == "lifespan":
        await live(receive, send, _pool.open, _pool.close)
    elif scope["method"] != "POST":
        await answer(send, b"{}")
    else:
        await _call(scope, receive, send)


async def _call(scope: Scope, receive: Receive, send: Send) -> None:
    message = orjson.loads(await body_of(receive))
    connection = await _pool.take()
    try:
        cursor = await connection.execute(LOOK_UP, (_digest(scope),))
        who = await cursor.fetchone()
        if who is None:
            await answer(send, b"{}", 401)
            return
        arguments = message["params"]["arguments"]
        work = _read if message["params"]["name"] == "memory_read" else _write
        output = await work(connection, who, arguments)
    finally:
        _pool.give_back(connection)
    result = {
        "content": [{"type": "text", "text": orjson.dumps(output).decode()}],
        "structuredContent": output,
        "isError": False,
    }
    await answer(send, orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


def _digest(scope: Scope) -> str:
    """Return the digest of the key in the ``Authorization`` header."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            return hashlib.sha256(value[7:]).hexdigest()
    return ""


async def _read(connection: Database, who: TupleRow, arguments: dict[str, Any]) -> dict[str, Any]:
    owner_id, project_id = who[3], who[4]
    cursor = await connection.execute(NOTES, (owner_id, project_id, arguments["limit"]))
    rows = await cursor.fetchall()
    notes = [
        {
            "id": id_,
            "content": content,
            "source": source,
            "revision": revision,
            "received_at": received_at,
            "updated_at": updated_at,
            "writer": {"kind": kind, "id": writer_id, "name": name, "account_id": account_id},
        }
        for id_, content, source, revision, received_at, updated_at, kind, writer_id, name, account_id in rows
    ]
    notes.reverse()
    return {
        "project": {
            "id": project_id,
            "name": who[5],
            "description": who[6],
            "notes_count": who[7],
            "memory_revision": who[8],
            "standards_revision": who[9],
            "created_at": who[10],
        },
        "notes": notes,
        "standards": [],
        "memory_revision": who[8],
        "standards_revision": who[9],
        "next_cursor": None,
    }


async def _write(connection: Database, who: TupleRow, arguments: dict[str, Any]) -> dict[str, Any]:
    writer_id, kind, name, owner_id, project_id = who[:5]
    note_id, content = str(uuid.uuid4()), arguments["content"]
    size = len(content.encode())
    await connection.execute("BEGIN")
    try:
        cursor = await connection.execute(COUNT, (size, project_id, owner_id))
        row = await cursor.fetchone()
        assert row is not None
        seq, received_at = row
        changed_by = (kind, writer_id, name)
        values = (note_id, owner_id, project_id, seq, content, size, *changed_by, owner_id)
        await connection.execute(INSERT, (*values, arguments["checkpoint_id"], *changed_by))
        await connection.execute("COMMIT")
    except BaseException:
        await connection.execute("ROLLBACK")
        raise
    note = {
        "id": note_id,
        "project_id": project_id,
        "content": content,
        "source": None,
        "received_at": received_at,
        "writer": {"kind": kind, "id": writer_id, "name": name, "account_id": owner_id},
    }
    return {"note": note, "checkpoint_id": arguments["checkpoint_id"]}


async def live(
    receive: Receive,
    send: Send,
    on_start: Callable[[], Awaitable[None]] | None = None,
    on_end: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Answer the lifespan events."""
    while True:
        event = (await receive())["type"]
        if event == "lifespan.startup":
            if on_start is not None:
                await on_start()
            await send({"type": "lifespan.startup.complete"})
            continue
        if on_end is not None:
            await on_end()
        await send({"type": "lifespan.shutdown.complete"})
        return


async def body_of(receive: Receive) -> bytes:
    """Return a request's body."""
    event = await receive()
    body: bytes = event["body"]
    while event["more_body"]:
        event = await receive()
        body += event["body"]
    return body


async def answer(send: Send, body: bytes, status: int = 200) -> None:
    """Send JSON."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
