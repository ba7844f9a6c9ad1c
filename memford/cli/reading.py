"""``memford read``: notes and standards as Markdown or JSON, once or as they come (C1)."""

import asyncio
from typing import Any

from memford.cli.output import answer, say
from memford.client.memory import AsyncMemory
from memford.client.places import Target, resolve
from memford.client.shapes import Note, Page
from memford.client.watching import uri_of
from memford.client.watching import watch as watch_changes


def read(url: str | None, project: str | None, *, everything: bool, limit: int, watch: bool, as_json: bool) -> None:
    """Print the newest page, or everything; with ``watch`` also what comes."""
    target = resolve(url, project)

    async def run() -> None:
        async with target.memory() as memory:
            project_id = target.project_id or (await memory.project()).id
            page = await (_everything(memory, project_id) if everything else memory.read_page(project_id, limit=limit))
        answer(_as_data(page), _as_markdown(page), as_json=as_json)
        if watch:
            await _watch(target, page, as_json=as_json)

    asyncio.run(run())


async def _everything(memory: AsyncMemory, project_id: str) -> Page:
    """Follow the pages, with a bar on a terminal (T5)."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("Reading", total=None)
        return await memory.read_all(
            project_id, on_page=lambda read, total: progress.update(bar, completed=read, total=total)
        )


async def _watch(target: Target, page: Page, *, as_json: bool) -> None:
    """Print each note that is new or changed, as it comes; one JSON object a line."""
    say("Watching. Stop with Ctrl-C.")
    project_id = str(page.project["id"])
    known = {note.id: note.revision for note in page.notes}

    async def look() -> None:
        async with target.memory() as memory:
            newest = await memory.read_page(project_id)
        for note in newest.notes:
            if known.get(note.id) != note.revision:
                known[note.id] = note.revision
                answer(note.model_dump(), _note(note), as_json=as_json)

    await watch_changes(target.memory, uri_of(project_id), look)


def _as_data(page: Page) -> dict[str, Any]:
    return page.model_dump()


def _as_markdown(page: Page) -> str:
    parts = [f"# {page.project['name']}"]
    if page.project["description"]:
        parts.append(page.project["description"])
    if page.standards:
        parts.append("## Standards")
        parts += [f"### {standard.title}\n\n{standard.content}" for standard in page.standards]
    parts.append("## Notes")
    parts += [_note(note) for note in page.notes] or ["Nothing is remembered yet."]
    if page.next_cursor:
        parts.append("There are older notes: `memford read --all`.")
    return "\n\n".join(parts)


def _note(note: Note) -> str:
    source = f", from {note.source}" if note.source else ""
    revision = f", revision {note.revision}" if note.revision > 1 else ""
    return f"### {note.received_at[:16].replace('T', ' ')} UTC, {note.writer.name}{source}{revision}\n\n{note.content}"
