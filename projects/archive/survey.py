"""The first reading of an archive: what it holds, and what is wrong with it."""

import uuid
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, BinaryIO
from uuid import UUID

from memford.core.limits import limits
from memford.core.principal import NOBODY
from projects.archive.fields import PROBLEMS_MAX, Fields, Problems
from projects.archive.form import COUNTS
from projects.archive.parts import (
    ArchivedNote,
    ArchivedProject,
    ArchivedStandard,
    By,
    check_line,
    counts_of,
    note_of,
    project_of,
    standard_of,
)
from projects.archive.reader import Unreadable, read_parts


@dataclass
class KnownStandard:
    """What is kept of a standard until it is decided whether the owner has it already."""

    id: UUID
    title: str
    content: str
    status: str
    size: int


class Identities:
    """Under which ids an import keeps those who wrote, so that nobody takes another account's identity on."""

    def __init__(self, owner_id: UUID) -> None:
        self._owner_id = owner_id

    def account(self, id_: UUID) -> UUID:
        """Return the owner's own account id as it is, and for any other one that no account can have.

        Accounts have random ids (version 4). Another's is replaced by a derived one (version 5), the same for the same
        account; one that is derived already stays, so that a second import changes nothing.
        """
        return id_ if id_ == self._owner_id or id_.version == 5 else uuid.uuid5(self._owner_id, str(id_))

    def of(self, by: By) -> UUID:
        """Return the id of who wrote; that of an owner is an account's."""
        return self.account(by.id) if by.kind == "owner" else by.id

    def columns(self, by: By) -> dict[str, Any]:
        """Return who changed something, as it is stored."""
        return {"changed_by_kind": by.kind, "changed_by_id": self.of(by), "changed_by_name": by.name}


@dataclass
class Survey:
    """What the first reading of an archive found."""

    identities: Identities
    project: ArchivedProject = field(default_factory=lambda: ArchivedProject(NOBODY, "", ""))
    counts: dict[str, int] = field(default_factory=dict)
    found: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    note_bytes: int = 0
    standards: list[KnownStandard] = field(default_factory=list)
    sha256: str = ""
    problems: Problems = field(default_factory=Problems)
    _checkpoints: set[bytes] = field(default_factory=set)

    def claims_again(self, checkpoint_id: UUID, writer_id: UUID) -> bool:
        """Take a checkpoint for a writer, and say whether it was taken before."""
        # Digests, so that half a million of them fit into memory.
        key = blake2b(writer_id.bytes + checkpoint_id.bytes, digest_size=16).digest()
        known = key in self._checkpoints
        self._checkpoints.add(key)
        return known


def survey_archive(file: BinaryIO, identities: Identities) -> Survey:
    """Read an archive to its end and find what is wrong with it."""
    survey = Survey(identities)
    try:
        for section, index, value in read_parts(file):
            if section == "notes":
                _survey_note(survey, note_of(value, index, survey.problems))
            else:
                _survey_part(survey, section, index, value)
            if survey.problems.count >= PROBLEMS_MAX:
                # It will not be imported; reading on would only take time.
                return survey
    except Unreadable as end:
        survey.problems.tell(end.place, end.problem)
        return survey
    _compare_counts(survey)
    _check_assigned(survey)
    return survey


def _survey_part(survey: Survey, section: str, index: int, value: Any) -> None:
    if section == "activity":
        check_line(value, index, survey.problems)
        survey.found["activity"] += 1
    elif section == "standards":
        _survey_standard(survey, standard_of(value, index, survey.problems))
    elif section == "project":
        survey.project = project_of(value, survey.problems)
    elif section == "counts":
        survey.counts = counts_of(value, survey.problems)
    elif section == "exported_at":
        Fields({section: value}, "archive", [section], survey.problems).time(section)
    elif section == "sha256":
        survey.sha256 = value


def _survey_note(survey: Survey, note: ArchivedNote) -> None:
    survey.found["notes"] += 1
    survey.found["note_revisions"] += len(note.wordings)
    survey.note_bytes += note.size
    if note.checkpoint_id is not None and survey.claims_again(note.checkpoint_id, survey.identities.of(note.writer)):
        place = f"notes[{note.seq - 1}].checkpoint_id"
        survey.problems.tell(place, "stands at an earlier note of the same writer already")


def _survey_standard(survey: Survey, standard: ArchivedStandard) -> None:
    survey.found["standards"] += 1
    survey.found["standard_revisions"] += len(standard.wordings)
    if standard.wordings and len(survey.standards) <= limits().assigned_standards_max:
        last = standard.wordings[-1]
        survey.standards.append(KnownStandard(standard.id, last.label or "", last.content, last.status, standard.size))


def _compare_counts(survey: Survey) -> None:
    for name, found in survey.found.items():
        if survey.counts.get(name) != found:
            survey.problems.tell(f"counts.{name}", f"is {survey.counts.get(name)}, and the content holds {found}")


def _check_assigned(survey: Survey) -> None:
    """Hold the standards against what one project may be given (part 1)."""
    most = limits()
    if survey.found["standards"] > most.assigned_standards_max:
        survey.problems.tell(
            "standards", f"are {survey.found['standards']}; at most {most.assigned_standards_max} are accepted"
        )
    held = sum(len(standard.title) + len(standard.content) for standard in survey.standards)
    if held > most.assigned_standards_max_chars:
        problem = f"hold {held} code points; at most {most.assigned_standards_max_chars} are accepted"
        survey.problems.tell("standards", problem)
