"""Who did what when: a project's log, and the account's own (A7)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.timezone import localdate

from accounts.models import Activity, Owner
from accounts.workspace import is_part, workspace_page
from memford.core.activity import Tag
from projects import access
from projects.models import Project
from projects.pages.notes import SEQ_MAX
from projects.pages.revisions import number_of
from projects.selectors import existing_notes, list_account_activity, list_activity, newer_activity, titled_standards

LINES_AT_ONCE: Final = 100
NEWER_MAX: Final = 200
OVERLAP: Final = 20
"""A page that asks for newer lines names so many of those that it shows, so that none is missed that came late."""

Detail = Mapping[str, Any]


def _nothing(detail: Detail) -> str:
    return ""


def _revision(detail: Detail) -> str:
    return f", now revision {detail['revision']}" if detail.get("revision") else ""


def _named(detail: Detail) -> str:
    may = {"read_write": "read and write", "read_only": "only read"}.get(str(detail.get("access")))
    name = f" “{detail['name']}”" if detail.get("name") else ""
    where = f", from {detail['redirect_host']}" if detail.get("redirect_host") else ""
    return f"{name}{where}, which may {may}" if may else f"{name}{where}"


_WAYS: Final = {
    "password": "a password",
    "password_reset": "a new password",
    "code": "a code by mail",
    "sign_in_link": "a sign-in link",
    "totp": "an authenticator app",
    "recovery_codes": "a recovery code",
    "webauthn": "a passkey",
}


def _ways(detail: Detail) -> str:
    ways = [way for way in str(detail.get("by", "")).split(" + ") if way]
    return " with " + " and ".join(_WAYS.get(way, way) for way in ways) if ways else ""


def _kind(detail: Detail) -> str:
    return f": {_WAYS[kind]}" if (kind := str(detail.get("kind"))) in _WAYS else ""


def _counted(one: str, many: str) -> Callable[[Detail], str]:
    def words(detail: Detail) -> str:
        count = detail.get("count")
        return "" if count is None else one if count == 1 else many.format(count)

    return words


def _imported(detail: Detail) -> str:
    return f": {detail.get('notes', 0)} notes, {detail.get('standards', 0)} standards"


_ENDED: Final = {
    "bootstrap": ": newer ones take its place",
    "token_reused": ", because its used-up token came back",
    "code_replayed": ", because its used-up code came back",
    "client": ", because its program signed out",
    "never_connected": ", because it was approved and never came",
    "unused": ", because it was not used for too long",
}


def _reason(detail: Detail) -> str:
    return _ENDED.get(str(detail.get("reason")), "")


def _fields(detail: Detail) -> str:
    fields = detail.get("fields")
    return " " + " and ".join(map(str, fields)) if isinstance(fields, list) else ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is said of a line behind its actor's name: words, the thing that a link leads to, and the facts."""

    words: str
    thing: str = ""
    after: str = ""
    facts: Callable[[Detail], str] = _nothing
    leads_to: str = ""
    is_alarm: bool = False


SENTENCES: Final[dict[Tag, Sentence]] = {
    Tag.SIGNED_IN: Sentence("signed in", facts=_ways),
    Tag.PROJECT_CREATED: Sentence("made the project"),
    Tag.PROJECT_CHANGED: Sentence("changed", "the settings", facts=_fields, after=":", leads_to="settings"),
    Tag.PROJECT_DELETED: Sentence("deleted the project"),
    Tag.PROJECT_RESTORED: Sentence("restored the project"),
    Tag.NOTE_WRITTEN: Sentence("wrote", "a note", leads_to="note"),
    Tag.NOTE_EDITED: Sentence("edited", "a note", facts=_revision, leads_to="note"),
    Tag.NOTE_STATUS_CHANGED: Sentence("changed the status of", "a note", leads_to="note"),
    Tag.STANDARD_CREATED: Sentence("put", "a standard", " on the shelf", leads_to="standard"),
    Tag.STANDARD_EDITED: Sentence("changed", "a standard", facts=_revision, leads_to="standard"),
    Tag.STANDARDS_ASSIGNED: Sentence(
        "changed", "which standards agents are given", facts=_counted(": 1 now", ": {} now"), leads_to="standards"
    ),
    Tag.KEY_CREATED: Sentence("made", "the key", facts=_named, leads_to="access"),
    Tag.CONNECTION_REVOKED: Sentence("ended", "a connection or key", facts=_reason, leads_to="access"),
    Tag.CONNECTION_APPROVED: Sentence("approved", "the connection", facts=_named, leads_to="access"),
    Tag.TOKEN_REUSED: Sentence(
        "presented a token or code that was used up before. Somebody else may hold a copy of it, so",
        "the connection",
        " was ended",
        leads_to="access",
        is_alarm=True,
    ),
    Tag.EMAIL_CHANGED: Sentence("changed the e-mail address"),
    Tag.PASSWORD_CHANGED: Sentence("set a new password"),
    Tag.SECOND_FACTOR_ADDED: Sentence("added a second factor", facts=_kind),
    Tag.SECOND_FACTOR_REMOVED: Sentence("removed a second factor", facts=_kind),
    Tag.LOGIN_SESSIONS_ENDED: Sentence("signed out", facts=_counted(" one other browser", " {} other browsers")),
    Tag.PROJECT_IMPORTED: Sentence("made the project from an archive", facts=_imported),
    Tag.PROJECT_ERASED: Sentence("erased the project for good"),
    Tag.ACCOUNT_CLOSED: Sentence("closed the account"),
    Tag.ACCOUNT_RESTORED: Sentence("restored the account"),
}
"""A sentence for every tag there is."""

_STATUS: Final = {
    "active": Sentence("set", "a note", " active again", leads_to="note"),
    "inactive": Sentence("set", "a note", " inactive", leads_to="note"),
    "deleted": Sentence("deleted", "a note", leads_to="note"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log as it is printed."""

    id: int
    at: datetime
    actor_name: str
    actor_kind: str
    words: str
    thing: str
    after: str
    address: str
    is_alarm: bool


@workspace_page("GET")
def activity(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """List who did what in a project, newest first."""
    project = access.project_of(owner.pk, project_id)
    before = number_of(request.GET.get("before"), SEQ_MAX)
    lines = list_activity(owner_id=owner.pk, project_id=project.pk, limit=LINES_AT_ONCE + 1, before_id=before)
    return _page(request, owner, project, lines)


@workspace_page("GET")
def account_activity(request: HttpRequest, owner: Owner) -> HttpResponse:
    """List what happened to the account and its shelf, newest first."""
    before = number_of(request.GET.get("before"), SEQ_MAX)
    lines = list_account_activity(owner_id=owner.pk, limit=LINES_AT_ONCE + 1, before_id=before)
    return _page(request, owner, None, lines)


def _page(request: HttpRequest, owner: Owner, project: Project | None, found: list[Activity]) -> HttpResponse:
    shown = found[:LINES_AT_ONCE]
    days = _by_day(_lines_of(owner, project, shown))
    context: dict[str, Any] = {
        **_place(project),
        **_mark([line.pk for line in shown]),
        "days": days,
        "is_newest_page": "before" not in request.GET,
        "newest_day": days[0][0].isoformat() if days else "",
        # A day that goes on from the page before has its heading there.
        "day_above": request.GET.get("day", "") if is_part(request) else "",
    }
    if len(found) > len(shown):
        context["older"] = "?" + urlencode({"before": shown[-1].pk, "day": days[-1][0].isoformat()})
    template = "projects/activity.html" if project is not None else "projects/account_activity.html"
    return render(request, "projects/parts/activity_days.html" if is_part(request) else template, context)


@workspace_page("GET")
def activity_live(request: HttpRequest, owner: Owner, project_id: UUID) -> HttpResponse:
    """Return what happened in a project since its page was last told, or 204 where nothing did."""
    return _newer(request, owner, access.project_of(owner.pk, project_id))


@workspace_page("GET")
def account_activity_live(request: HttpRequest, owner: Owner) -> HttpResponse:
    """Return what happened to the account since its page was last told, or 204 where nothing did."""
    return _newer(request, owner, None)


def _newer(request: HttpRequest, owner: Owner, project: Project | None) -> HttpResponse:
    since = number_of(request.GET.get("since"), SEQ_MAX) or 0
    known = _numbers(request.GET.get("shown", ""))
    project_id = None if project is None else project.pk
    found = newer_activity(owner_id=owner.pk, project_id=project_id, since_id=since, but=known, limit=NEWER_MAX)
    if not found:
        return HttpResponse(status=204)
    newest_day = request.GET.get("newest_day", "")[:10]
    days = _by_day(_lines_of(owner, project, sorted(found, key=lambda line: -line.pk)))
    context = {
        **_place(project),
        **_mark([*known, *(line.pk for line in found)], since),
        "days": days,
        "newest_day": max(newest_day, days[0][0].isoformat()),
        "day_before": newest_day,
    }
    return render(request, "projects/parts/activity_live.html", context)


def _place(project: Project | None) -> dict[str, Any]:
    """Return what the templates need to know of whose log it is."""
    if project is None:
        return {"section": "activity", "here": reverse("account-activity"), "live": reverse("account-activity-live")}
    here, live = reverse("activity", args=[project.pk]), reverse("activity-live", args=[project.pk])
    return {"project": project, "tab": "activity", "here": here, "live": live}


def _mark(shown: Iterable[int], since: int = 0) -> dict[str, Any]:
    """Return from where on a page asks for newer lines, and which of these it shows already."""
    newest = sorted(shown, reverse=True)
    return {"shown": newest[:OVERLAP], "since": newest[OVERLAP] if len(newest) > OVERLAP else since}


def _numbers(text: str) -> list[int]:
    found = [number_of(each, SEQ_MAX) for each in text.split(",", 2 * OVERLAP)[: 2 * OVERLAP]]
    return [number for number in found if number is not None]


def _by_day(lines: Sequence[Line]) -> list[tuple[date, list[Line]]]:
    return [(day, list(group)) for day, group in groupby(lines, lambda line: localdate(line.at))]


# What a line says


def _lines_of(owner: Owner, project: Project | None, lines: Sequence[Activity]) -> list[Line]:
    """Print lines, with links to what still exists: one statement for all notes, and one for all standards."""
    things = [(line, _sentence_of(line)) for line in lines]
    notes: set[UUID] = set()
    if project is not None and (asked := _about(things, "note")):
        notes = existing_notes(owner_id=owner.pk, project_id=project.pk, note_ids=asked)
    titles: dict[UUID, str] = {}
    if asked := _about(things, "standard"):
        titles = {each.id: each.title for each in titled_standards(owner_id=owner.pk, among=asked)}
    return [_line(line, sentence, project, notes, titles) for line, sentence in things]


def _about(things: Sequence[tuple[Activity, Sentence]], kind: str) -> set[UUID]:
    return {line.object_id for line, each in things if each.leads_to == kind and line.object_id is not None}


def _sentence_of(line: Activity) -> Sentence:
    if line.tag == Tag.NOTE_STATUS_CHANGED and (status := str(line.detail.get("status"))) in _STATUS:
        return _STATUS[status]
    if line.tag == Tag.CONNECTION_REVOKED and line.object_id == line.actor_id:
        # It ended by itself, or for what it did.
        return Sentence("lost", "its connection", facts=_reason, leads_to="access")
    if line.tag in SENTENCES:
        return SENTENCES[Tag(line.tag)]
    # Written by a newer version of Memford.
    return Sentence(line.tag.replace("_", " "))


def _line(
    line: Activity, sentence: Sentence, project: Project | None, notes: set[UUID], titles: Mapping[UUID, str]
) -> Line:
    if (title := titles.get(line.object_id) if line.object_id else None) is not None:
        sentence = replace(sentence, thing=f"the standard “{title}”")
    return Line(
        id=line.pk,
        at=line.at,
        actor_name=line.actor_name,
        actor_kind=line.actor_kind,
        words=sentence.words,
        thing=sentence.thing,
        after=f"{sentence.after}{sentence.facts(line.detail)}",
        address=_address(line, sentence.leads_to, project, notes, titles),
        is_alarm=sentence.is_alarm,
    )


def _address(
    line: Activity, leads_to: str, project: Project | None, notes: set[UUID], titles: Mapping[UUID, str]
) -> str:
    """Return where a line's thing is found, or nothing where it no longer is."""
    if leads_to == "standard" and line.object_id in titles:
        return reverse("standard", args=[line.object_id])
    if project is None:
        return ""
    if leads_to == "note":
        return reverse("note", args=[project.pk, line.object_id]) if line.object_id in notes else ""
    names = {"standards": "project-standards", "access": "access", "settings": "project-settings"}
    return reverse(names[leads_to], args=[project.pk]) if leads_to in names else ""
