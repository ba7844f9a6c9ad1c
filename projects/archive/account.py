"""Everything of an account as one ZIP: of one moment, in bounded memory (W1, docs/archive.md).

Upper floors register what they add, since this one knows nothing of them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from allauth.mfa.models import Authenticator
from django.db import connections
from django.utils import timezone
from django.utils.text import slugify

from accounts.models import Activity, Owner
from accounts.selectors import login_sessions, second_factors
from memford.core.database import APP
from memford.core.errors import MemfordError, NotFound
from memford.core.lots import lots_by_age
from projects.archive.form import canonical, optionally_printed, printed
from projects.archive.spool import Spool
from projects.archive.write import activity_of, filling, line_of, listed, pieces_of, pieces_of_standard
from projects.models import Project
from projects.selectors import list_projects, list_standards

Part = tuple[str, Iterable[bytes]]
Parts = Callable[[UUID], Iterator[Part]]

STANDARDS_AT_ONCE: Final = 100
NAME_MAX_CHARS: Final = 40

README: Final = """\
Everything of a Memford account
===============================

Account     {email}
            {id}
Taken       {taken}, all of it as it was at that moment

account.json        the address you sign in with, when the account was made, your second factors and where you are
                    signed in
projects/           one archive for each project: its notes with every wording they had and who wrote what, the
                    standards it is given, and what was done in it. Memford can import each of them again
standards.json      all standards of your shelf with every wording, also those that no project is given
connections.json    the connections and keys that reach your projects, ended ones too; no key can be got from it
activity.json       what was done to the account itself, and to projects that are no longer there

Not in it are passwords, keys, tokens and the secrets of second factors, which nobody can read, and deleted projects.
The files are JSON in UTF-8, times are UTC. docs/archive.md of Memford tells every field.
"""

_CLAIM: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended('memford account export ' || %s, 0))"

# The next project that the owner's log knows, live or not, without reading the lines between.
_NEXT_PROJECT: Final = """
SELECT project_id FROM accounts_activity
 WHERE owner_id = %s AND project_id > %s ORDER BY project_id LIMIT 1
"""

_further: list[Parts] = []


class ExportUnderway(MemfordError):
    """The account is being taken along already; two at once would only cost twice."""

    code = "export_underway"
    status = 409
    message = "Your file is being put together already, in another tab or by a second click. Ask again in a minute."


def on_account_export(parts: Parts) -> None:
    """Add what ``parts`` gives for an owner's id, as names and pieces, to every export of an account.

    It is called inside the export's snapshot, and holds no more than a bounded lot at a time.
    """
    _further.append(parts)


def export_account(*, owner_id: UUID) -> Spool:
    """Return everything of an account as a ZIP, ready to be streamed (docs/archive.md).

    All of it is read in one read-only snapshot. Statements: a fixed number for the account and for each project that
    its log knows, and one for each lot, as :func:`projects.archive.export_project`. Memory holds one lot; the rest is
    in a temporary file, which ends with the returned object.

    Raises:
        ExportUnderway: The same is being done for this owner elsewhere.
        NotFound: There is no such account, or it is closed.
    """
    with filling() as spool:
        owner = Owner.objects.filter(pk=owner_id, is_active=True).first()
        if owner is None:
            raise NotFound
        _claim(owner_id)
        now = timezone.now()
        with ZipFile(spool.file, "w", ZIP_DEFLATED) as archive:
            for name, pieces in _parts(owner):
                member = ZipInfo(name, now.timetuple()[:6])
                member.compress_type = ZIP_DEFLATED
                with archive.open(member, "w", force_zip64=True) as file:
                    for piece in pieces:
                        file.write(piece)
    return spool.rewind()


def _claim(owner_id: UUID) -> None:
    """Hold the owner's exports until the transaction ends."""
    with connections[APP].cursor() as cursor:
        cursor.execute(_CLAIM, [str(owner_id)])
        if not cursor.fetchone()[0]:
            raise ExportUnderway


def _parts(owner: Owner) -> Iterator[Part]:
    projects = list(list_projects(owner_id=owner.pk))
    shelf = lots_by_age(list_standards(owner_id=owner.pk), STANDARDS_AT_ONCE)
    taken = timezone.now().strftime("%Y-%m-%d %H:%M:%S UTC")
    yield "README.txt", [README.format(email=owner.email, id=owner.pk, taken=taken).encode()]
    yield "account.json", [canonical(_account(owner)), b"\n"]
    for project in projects:
        yield f"projects/{_file_name(project)}.json", pieces_of(project)
    yield "standards.json", listed_file("standards", map(pieces_of_standard, shelf))
    for parts in _further:
        yield from parts(owner.pk)
    lines = ([canonical(_line(line))] for line in _activity(owner.pk, {project.pk for project in projects}))
    yield "activity.json", listed_file("activity", lines)


def listed_file(name: str, members: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Print a file that holds one list of this name."""
    yield b"{%s:" % canonical(name)
    yield from listed(members)
    yield b"}\n"


def _file_name(project: Project) -> str:
    """Return a name that says which project it is on every file system, and is the project's alone."""
    said = slugify(project.name)[:NAME_MAX_CHARS].strip("-_")
    return f"{said}-{project.pk}" if said else str(project.pk)


def _account(owner: Owner) -> dict[str, Any]:
    return {
        "id": str(owner.pk),
        "email": owner.email,
        "email_verified_at": optionally_printed(owner.email_verified_at),
        "created_at": printed(owner.created_at),
        "has_password": owner.has_usable_password(),
        "second_factors": [_second_factor(each) for each in second_factors(owner_id=owner.pk)],
        "login_sessions": [
            {
                "since": printed(each.created_at),
                "last_seen_at": printed(each.last_seen_at),
                "ip": each.ip,
                "user_agent": each.user_agent,
            }
            for each in login_sessions(owner_id=owner.pk)
        ],
    }


def _second_factor(factor: Authenticator) -> dict[str, Any]:
    return {
        "kind": str(factor.type),
        "name": factor.wrap().name if factor.type == Authenticator.Type.WEBAUTHN else None,
        "created_at": printed(factor.created_at),
        "last_used_at": optionally_printed(factor.last_used_at),
    }


def _activity(owner_id: UUID, elsewhere: set[UUID]) -> Iterator[Activity]:
    """Return the lines of the owner's log but those of the projects ``elsewhere``, whose archives hold them."""
    yield from activity_of(owner_id, None)
    project_id = UUID(int=0)
    while (found := _next_project(owner_id, project_id)) is not None:
        project_id = found
        if project_id not in elsewhere:
            yield from activity_of(owner_id, project_id)


def _next_project(owner_id: UUID, after: UUID) -> UUID | None:
    with connections[APP].cursor() as cursor:
        cursor.execute(_NEXT_PROJECT, [owner_id, after])
        row = cursor.fetchone()
    return None if row is None else row[0]


def _line(line: Activity) -> dict[str, Any]:
    return {**line_of(line), "project_id": None if line.project_id is None else str(line.project_id)}
