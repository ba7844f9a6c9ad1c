"""An owner's workspace with something in it, and every page of it: what is looked at, photographed and timed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from django.urls import URLPattern, URLResolver, get_resolver

from accounts.services import ensure_owner
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import revoke_connection
from memford.core.principal import Writer
from projects.models import Note, Standard
from projects.services import assign_standards, create_standard, revise_note, revise_standard, write_note
from tests.cast import Person

PAGES: Final = {
    "projects": "/projects",
    "notes": "/projects/{project}",
    "search": "/projects/{project}?q=lamp",
    "note": "/projects/{project}/notes/{note}",
    "edit": "/projects/{project}/notes/{note}/edit",
    "project-standards": "/projects/{project}/standards",
    "connect": "/projects/{project}/connect",
    "access": "/projects/{project}/access",
    "activity": "/projects/{project}/activity",
    "settings": "/projects/{project}/settings",
    "standards": "/standards",
    "standard": "/standards/{standard}",
    "standard-edit": "/standards/{standard}/edit",
    "account": "/accounts/",
    "account-activity": "/activity",
    "account-email": "/accounts/email/",
    "account-password": "/accounts/password/change/",
    "account-second-factor": "/accounts/2fa/",
    "account-passkeys": "/accounts/2fa/webauthn/",
    "account-sessions": "/accounts/sessions/",
    "account-take-along": "/accounts/take-along/",
    "account-delete": "/accounts/delete/",
}
"""Every page of the workspace by a short name, with what its address holds."""

PARTS: Final = {"account-activity-live", "activity-live", "notes-live", "note-row", "connect-calls"}
"""Names of addresses that answer with a part of a page."""

SENT_TO: Final = {"key-new", "note-write", "project-new", "project-change", "standard-new"}
"""Names of addresses that forms are sent to; asked for, they lead to the form's page."""

_NOTES: Final = [
    ("owner", "The lamp is to turn once in 8 seconds: agreed with the harbour office on Monday.", "harbour office", 1),
    ("codex", "Measured the rotation over an hour: 8.02 s on average, 8.1 s at most.", "bench/rotation.py", 1),
    (
        "claude",
        (
            "Decision: the fog horn follows the visibility sensor, not the clock.\n\n"
            "- below 2 km: two blasts a minute\n- below 500 m: four blasts a minute\n- the keeper can silence it for an hour\n\n"
            "The clock was wrong twice last winter, when fog came by day."
        ),
        "design review",
        2,
    ),
    ("claude", "The mercury bath must never be opened without the extractor running.", None, 1),
    ("codex", "TODO: the spare lamp has no holder for the new bulb.", "inspection", 1),
    ("owner", "Anna keeps the keys of the gallery from now on.", None, 1),
]


@dataclass
class House:
    """An owner with a furnished project, and what the addresses of pages hold."""

    person: Person
    note: Note
    standard: Standard
    agents: dict[str, Writer] = field(default_factory=dict)

    @property
    def address(self) -> dict[str, str]:
        """Return what the addresses of ``PAGES`` hold."""
        ids = {"project": self.person.project.pk, "note": self.note.pk, "standard": self.standard.pk}
        return {name: str(id_) for name, id_ in ids.items()}

    def pages(self) -> dict[str, str]:
        """Return every page's name and address."""
        return {name: path.format(**self.address) for name, path in PAGES.items()}


def furnish(email: str, password: str) -> House:
    """Make an owner with projects, notes with a history, standards in use, connections and keys."""
    person = Person(ensure_owner(email=email, password=password))
    for name in ("Harbour works", "Tide tables"):
        person.new_project(name)
    agents = {name: _connection(person, label) for name, label in (("claude", "Claude Code"), ("codex", "Codex"))}
    _key(person, "Nightly import")
    revoke_connection(owner_id=person.id, connection_id=_key(person, "Old laptop").pk, actor=person.hand)
    notes = [_write(person, agents.get(who, person.hand), text, source) for who, text, source, _ in _NOTES]
    where: dict[str, Any] = {"owner_id": person.id, "project_id": person.project.pk, "actor": person.hand}
    note = notes[2]
    wording = note.content.replace("four blasts", "six blasts").replace("for an hour", "for half an hour")
    note = revise_note(**where, note_id=note.pk, expected_revision=1, content=wording)
    revise_note(**where, note_id=notes[4].pk, expected_revision=1, status="inactive")
    revise_note(**where, note_id=notes[5].pk, expected_revision=1, status="deleted")
    return House(person, note, _standards(person), agents)


def _connection(person: Person, name: str) -> Writer:
    connection = Connection.objects.create(
        owner_id=person.id,
        project=person.project,
        kind=Connection.Kind.OAUTH,
        name=name,
        redirect_host="localhost",
    )
    return Writer("oauth", connection.pk, name, person.id)


def _key(person: Person, name: str) -> Connection:
    return person.new_agent(name=name, access="read_only").connection


def _write(person: Person, writer: Writer, content: str, source: str | None) -> Note:
    receipt = write_note(
        owner_id=person.id, project_id=person.project.pk, writer=writer, content=content, source=source
    )
    return Note.objects.get(pk=receipt.id)


def _standards(person: Person) -> Standard:
    where: dict[str, Any] = {"owner_id": person.id, "actor": person.hand}
    texts = {
        "How we write": "Say what was measured, with its unit and date. One fact, one note.",
        "Safety first": "Nothing that touches mercury or mains is changed without two people in the room.",
        "Words": "Lamp, not light; rotation, not spin; keeper, not operator.",
    }
    made = [create_standard(**where, title=title, content=content) for title, content in texts.items()]
    assign_standards(
        **where, project_id=person.project.pk, expected_revision=0, standard_ids=[each.pk for each in made[:2]]
    )
    return revise_standard(
        **where,
        standard_id=made[0].pk,
        expected_revision=1,
        content="Say what was measured, with its unit, date and instrument. One fact, one note.",
    )


def pages_by_name() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return the name and view of every address of the workspace, as the URL configuration has them."""

    def walk(patterns: list[Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
        for each in patterns:
            if isinstance(each, URLResolver):
                yield from walk(each.url_patterns)
            elif isinstance(each, URLPattern) and hasattr(each.callback, "is_workspace_page"):
                yield each.name or str(each.pattern), each.callback

    yield from walk(get_resolver().url_patterns)
