"""``memford write``, ``pending`` and ``flush``: saved is said only of what was read back (C2)."""

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

from memford.cli.output import Exit, answer, say, status_of
from memford.client.credentials import Credentials
from memford.client.errors import ClientError, SignedOut
from memford.client.flushing import flush as flush_all
from memford.client.places import Target, resolve
from memford.client.saving import Door, Outcome, State, save
from memford.client.spool import Entry, Spool
from memford.client.texts import check_note

_STATUS: Final = {State.SAVED: Exit.DONE, State.UNVERIFIED: Exit.UNVERIFIED, State.UNRESOLVED: Exit.UNRESOLVED}


def write(
    path: str, source: str | None, checkpoint: str | None, url: str | None, project: str | None, *, as_json: bool
) -> Exit:
    """Keep a text on disk, send it, read it back, and say what became of it."""
    content = _content_of(path)
    _check(content, source, checkpoint)
    target = resolve(url, project)
    spool = Spool.of_user()
    entry = Entry.new(
        server=target.url,
        connection=target.connection,
        project_id=target.project_id,
        content=content,
        source=source,
        checkpoint_id=checkpoint,
    )
    with spool.keep(entry) as held:
        outcome = asyncio.run(save(_door(target), spool, held))
    answer(_data(outcome), _words(outcome), as_json=as_json)
    if outcome.error is not None:
        say(f"memford: {_what_next(outcome)}")
    return _status(outcome)


def _content_of(path: str) -> str:
    """Read a file, or standard input for ``-``, as it is: not a byte is changed."""
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise ClientError(f"{path} cannot be read: {error.strerror or error}.", code="unreadable") from error
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ClientError(
            f"{'Standard input' if path == '-' else path} is no UTF-8 (byte {error.start}). Convert it first.",
            code="unreadable",
        ) from None


def _check(content: str, source: str | None, checkpoint: str | None) -> None:
    try:
        check_note(content, source, checkpoint)
    except ClientError as error:
        fields: dict[str, str] = error.data.get("fields", {})
        words = "; ".join(f"the {name.removesuffix('_id')} {problem}" for name, problem in fields.items())
        raise ClientError(f"Nothing was kept or sent: {words}.", code=error.code) from None


def _door(target: Target) -> Door:
    return Door(target.url, target.connection, target.auth)


def pending(*, as_json: bool) -> None:
    """List what is not known to be saved, oldest first."""
    spool = Spool.of_user()
    stock = spool.stock()
    data = {
        "pending": [_entry(entry) for entry in stock.entries],
        "set_aside": [{"path": str(each.path), "reason": each.reason} for each in stock.strays],
        "refused": [str(path) for path in spool.aside("refused")],
        "damaged": [str(path) for path in spool.aside("damaged")],
    }
    lines = [f"{each.checkpoint_id}  {each.created_at}  {each.server}  {_first_words(each)}" for each in stock.entries]
    answer(data, "\n".join(lines) or "Nothing is pending.", as_json=as_json)
    for stray in stock.strays:
        say(f"memford: {stray.path} {stray.reason}.")


def flush(url: str | None, project: str | None, *, resend: bool, as_json: bool) -> Exit:
    """Settle what is pending, and say what became of each."""
    credentials = Credentials()
    spool = Spool.of_user()

    def door_of(entry: Entry) -> Door:
        return _door(_target_for(entry, url, project, credentials))

    outcomes = asyncio.run(flush_all(spool, door_of, resend=resend))
    data = {"outcomes": [_data(outcome) for outcome in outcomes]}
    answer(data, "\n".join(map(_words, outcomes)) or "Nothing is pending.", as_json=as_json)
    for outcome in outcomes:
        if outcome.error is not None:
            say(f"memford: {_what_next(outcome)}")
    statuses = {_status(outcome) for outcome in outcomes} - {Exit.DONE}
    return next((each for each in (Exit.UNRESOLVED, Exit.UNVERIFIED, *sorted(statuses)) if each in statuses), Exit.DONE)


def _target_for(entry: Entry, url: str | None, project: str | None, credentials: Credentials) -> Target:
    """Return the credential for a write: its own where it is still there, else what is used here for its server."""
    for login in credentials.logins():
        if login.connection == entry.connection:
            return Target(login.url, "its own login", None, login.connection, login=login, credentials=credentials)
    target = resolve(url, project, credentials=credentials)
    if target.url != entry.server:
        raise SignedOut(f"It is for {entry.server}, where you are not signed in: memford login --url {entry.server}.")
    return target


def _status(outcome: Outcome) -> Exit:
    known = _STATUS.get(outcome.state)
    if known is not None:
        return known
    return status_of(outcome.error) if outcome.error is not None else Exit.FAILED


def _data(outcome: Outcome) -> dict[str, Any]:
    data: dict[str, Any] = {"state": str(outcome.state), **_entry(outcome.entry)}
    if outcome.saved is not None:
        saved = outcome.saved
        data |= {"note_id": saved.note_id, "received_at": saved.received_at, "changed_since": saved.changed_since}
    if outcome.error is not None:
        data["error"] = {"code": outcome.error.code, "message": outcome.error.message}
    if outcome.path is not None:
        data["path"] = str(outcome.path)
    return data


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "checkpoint_id": entry.checkpoint_id,
        "server": entry.server,
        "connection": entry.connection,
        "project_id": entry.project_id,
        "created_at": entry.created_at,
    }


def _words(outcome: Outcome) -> str:
    entry = outcome.entry
    match outcome.state:
        case State.SAVED if outcome.saved is not None:
            since = ", and changed by its owner since" if outcome.saved.changed_since else ""
            return f"saved  {outcome.saved.note_id}{since}"
        case State.UNVERIFIED:
            return f"saving unverified  {entry.checkpoint_id}  {_first_words(entry)}"
        case _:
            return f"{outcome.state}  {entry.checkpoint_id}  {_first_words(entry)}"


def _what_next(outcome: Outcome) -> str:
    why = outcome.error.message if outcome.error is not None else ""
    match outcome.state:
        case State.REFUSED:
            return f"{why} It will never be taken so; the text is kept in {outcome.path}."
        case State.UNRESOLVED:
            return why
        case _:
            return f"{why} The text is kept in {outcome.path}; `memford flush` sends it again, and never twice."


def _first_words(entry: Entry) -> str:
    words = " ".join(entry.content.split())
    return words if len(words) <= 50 else f"{words[:49]}…"
