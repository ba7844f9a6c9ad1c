"""Writing a project's archive: one consistent snapshot, in bounded memory (docs/archive.md).

A download may take as long as its reader likes, and a transaction may not: it would hold a database connection, and the
server ends one that idles. So the archive is first written to a temporary file inside one read-only transaction.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, groupby
from typing import Any, Final
from uuid import UUID

from django.db import connections, transaction
from django.utils import timezone

from accounts.models import Activity
from memford.core.database import APP
from projects import access
from projects.archive.form import FORMAT, SECTIONS, VERSION, ContentDigest, canonical, printed
from projects.archive.spool import Spool
from projects.models import Note, Project, Standard, StandardAssignment, StandardRevision

NOTES_AT_ONCE: Final = 200
REVISIONS_AT_ONCE: Final = 200
ACTIVITY_AT_ONCE: Final = 1_000

_COUNT: Final = """
SELECT json_build_object(
       'activity', (SELECT count(*) FROM accounts_activity WHERE owner_id = %(owner)s AND project_id = %(project)s),
       'note_revisions', (SELECT coalesce(sum(revision), 0) FROM projects_note
                           WHERE owner_id = %(owner)s AND project_id = %(project)s),
       'notes', (SELECT count(*) FROM projects_note WHERE owner_id = %(owner)s AND project_id = %(project)s),
       'standard_revisions', (SELECT coalesce(sum(s.revision), 0)
                                FROM projects_standardassignment a JOIN projects_standard s ON s.id = a.standard_id
                               WHERE a.owner_id = %(owner)s AND a.project_id = %(project)s),
       'standards', (SELECT count(*) FROM projects_standardassignment
                      WHERE owner_id = %(owner)s AND project_id = %(project)s))
"""

# The replaced wordings of the notes from ``first`` to ``last``, continued behind a position.
_REPLACED: Final = """
SELECT n.seq, r.revision, r.content, r.source, r.status, r.changed_at,
       r.changed_by_kind, r.changed_by_id, r.changed_by_name
  FROM projects_note n JOIN projects_noterevision r ON r.note_id = n.id AND r.revision < n.revision
 WHERE n.owner_id = %(owner)s AND n.project_id = %(project)s AND n.seq BETWEEN %(first)s AND %(last)s
   AND (n.seq, r.revision) > (%(seq)s, %(revision)s)
 ORDER BY n.seq, r.revision LIMIT %(most)s
"""


@contextmanager
def snapshot() -> Iterator[None]:
    """Hold one read-only snapshot of the database for every statement inside.

    Raises:
        RuntimeError: A transaction is open already, whose snapshot could be another.
    """
    with transaction.atomic(durable=True):
        with connections[APP].cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


@contextmanager
def filling() -> Iterator[Spool]:
    """Give a spool to be filled from one snapshot; it is closed where that fails."""
    spool = Spool()
    try:
        with snapshot():
            yield spool
    except BaseException:
        spool.close()
        raise


def export_project(*, owner_id: UUID, project_id: UUID | str) -> Spool:
    """Return a project's archive as JSON, ready to be streamed (docs/archive.md, version 1).

    Statements: a fixed number, and one for each 200 notes, 200 replaced wordings and 1,000 lines of activity. Memory
    holds one such lot; the rest is in a temporary file, which ends with the returned object.

    Raises:
        NotFound: The project is not this owner's.
    """
    with filling() as spool:
        for piece in pieces_of(access.project_of(owner_id, project_id)):
            spool.write(piece)
    return spool.rewind()


def pieces_of(project: Project) -> Iterator[bytes]:
    """Print a project's archive piece by piece, inside a snapshot that is held for it."""
    head = {"format": FORMAT, "version": VERSION, "exported_at": printed(timezone.now()), "counts": _counts(project)}
    for name, value in head.items():
        yield b"%s\n%s:%s" % (b"{" if name == "format" else b",", canonical(name), canonical(value))
    yield b',\n"content":'
    digest = ContentDigest()
    for piece in _content(project):
        digest.add(piece)
        yield piece
    yield b',\n"sha256":%s\n}\n' % canonical(digest.hex())


def _counts(project: Project) -> Any:
    with connections[APP].cursor() as cursor:
        cursor.execute(_COUNT, {"owner": project.owner_id, "project": project.pk})
        return cursor.fetchone()[0]


def _content(project: Project) -> Iterator[bytes]:
    """Print the content in its canonical form, piece by piece."""
    pieces: dict[str, Iterable[bytes]] = {
        "activity": listed([canonical(line_of(line))] for line in activity_of(project.owner_id, project.pk)),
        "notes": chain([b"["], _notes(project), [b"]"]),
        "project": [canonical(_project(project))],
        "standards": listed(map(pieces_of_standard, _assigned(project))),
    }
    yield b"{"
    for place, section in enumerate(SECTIONS):
        yield b'%s"%s":' % (b"," if place else b"", section.encode())
        yield from pieces[section]
    yield b"}"


def listed(members: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Print a list whose members come in pieces."""
    yield b"["
    for place, member in enumerate(members):
        if place:
            yield b","
        yield from member
    yield b"]"


def _project(project: Project) -> dict[str, Any]:
    return {
        "id": str(project.pk),
        "name": project.name,
        "description": project.description,
        "created_at": printed(project.created_at),
    }


def activity_of(owner_id: UUID, project_id: UUID | None) -> Iterator[Activity]:
    """Return the lines that tell of a project, or of none, newest first, lot by lot."""
    lines = Activity.objects.filter(owner_id=owner_id, project_id=project_id).order_by("-id")
    lot = list(lines[:ACTIVITY_AT_ONCE])
    while lot:
        yield from lot
        lot = list(lines.filter(id__lt=lot[-1].pk)[:ACTIVITY_AT_ONCE])


def line_of(line: Activity) -> dict[str, Any]:
    """Return a line of activity as archives hold it."""
    return {
        "at": printed(line.at),
        "tag": line.tag,
        "actor": {"kind": line.actor_kind, "id": str(line.actor_id), "name": line.actor_name},
        "object_id": None if line.object_id is None else str(line.object_id),
        "detail": line.detail,
    }


def note_lots(project: Project) -> Iterator[list[Note]]:
    """Return a project's notes in their order, lot by lot."""
    notes = Note.objects.filter(owner_id=project.owner_id, project=project).order_by("seq")
    lot = list(notes[:NOTES_AT_ONCE])
    while lot:
        yield lot
        lot = list(notes.filter(seq__gt=lot[-1].seq)[:NOTES_AT_ONCE])


def _notes(project: Project) -> Iterator[bytes]:
    separator = b""
    for lot in note_lots(project):
        replaced = groupby(_replaced(project, lot), key=lambda wording: wording[0])
        waiting = next(replaced, None)
        for note in lot:
            yield separator + _before_revisions(note)
            separator = b","
            if waiting is not None and waiting[0] == note.seq:
                for _, wording in waiting[1]:
                    yield canonical(wording) + b","
                waiting = next(replaced, None)
            yield canonical(_wording(note)) + _after_revisions(note)


def _replaced(project: Project, lot: list[Note]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return the wordings that a lot's notes had before, in the notes' order, a bounded number in each statement."""
    edited = [note.seq for note in lot if note.revision > 1]
    if not edited:
        return
    place: dict[str, Any] = {"owner": project.owner_id, "project": project.pk, "first": edited[0], "last": edited[-1]}
    seq, revision = 0, 0
    due = sum(note.revision - 1 for note in lot)
    while True:
        with connections[APP].cursor() as cursor:
            cursor.execute(_REPLACED, {**place, "seq": seq, "revision": revision, "most": REVISIONS_AT_ONCE})
            rows = cursor.fetchall()
        for row in rows:
            yield row[0], _printed_wording(row[1:])
        due -= len(rows)
        if due <= 0 or not rows:
            return
        seq, revision = rows[-1][:2]


def _printed_wording(row: tuple[Any, ...]) -> dict[str, Any]:
    revision, content, source, status, changed_at, kind, id_, name = row
    return {
        "revision": revision,
        "content": content,
        "source": source,
        "status": status,
        "changed_at": printed(changed_at),
        "changed_by": {"kind": kind, "id": str(id_), "name": name},
    }


def _wording(note: Note) -> dict[str, Any]:
    by = (note.changed_by_kind, note.changed_by_id, note.changed_by_name)
    return _printed_wording((note.revision, note.content, note.source, note.status, note.updated_at, *by))


def _before_revisions(note: Note) -> bytes:
    """Print the members whose names stand before ``revisions``, so that its wordings need not be held at once."""
    checkpoint = None if note.checkpoint_id is None else str(note.checkpoint_id)
    members = {"checkpoint_id": checkpoint, "id": str(note.pk), "received_at": printed(note.received_at)}
    return canonical(members)[:-1] + b',"revisions":['


def _after_revisions(note: Note) -> bytes:
    writer = {
        "kind": note.writer_kind,
        "id": str(note.writer_id),
        "name": note.writer_name,
        "account_id": str(note.writer_account_id),
    }
    return b"]," + canonical({"seq": note.seq, "writer": writer})[1:]


def _assigned(project: Project) -> Iterator[Standard]:
    """Return the assigned standards in their order."""
    assignments = StandardAssignment.objects.filter(owner_id=project.owner_id, project=project)
    for assignment in assignments.select_related("standard").order_by("position"):
        yield assignment.standard


def pieces_of_standard(standard: Standard) -> Iterator[bytes]:
    """Print a standard with all its wordings, the replaced ones a bounded number in each statement."""
    members = {"created_at": printed(standard.created_at), "id": str(standard.pk)}
    yield canonical(members)[:-1] + b',"revisions":['
    for replaced in _replaced_standard(standard):
        yield canonical(_standard_wording(replaced)) + b","
    yield canonical(_standard_wording(standard.as_revision())) + b"]}"


def _replaced_standard(standard: Standard) -> Iterator[StandardRevision]:
    replaced = StandardRevision.objects.filter(owner_id=standard.owner_id, standard=standard).order_by("revision")
    done = 0
    while done < standard.revision - 1:
        lot = list(replaced.filter(revision__gt=done, revision__lt=standard.revision)[:REVISIONS_AT_ONCE])
        if not lot:
            return
        yield from lot
        done = lot[-1].revision


def _standard_wording(row: StandardRevision) -> dict[str, Any]:
    return {
        "revision": row.revision,
        "title": row.title,
        "content": row.content,
        "status": row.status,
        "changed_at": printed(row.changed_at),
        "changed_by": {"kind": row.changed_by_kind, "id": str(row.changed_by_id), "name": row.changed_by_name},
    }
