"""How projects, notes and standards look in the owner's API, and what may be sent (A1-A4, A7)."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from rest_framework import serializers

from memford.core.api.bodies import Body, Number, Text
from memford.core.limits import limits
from projects.models import Note, Project, Standard, StandardStatus, Status
from projects.selectors.history import NoteWording, StandardWording

REVISION_MAX = 2**31 - 1


# What is sent


class NewProject(Body):
    """A new project."""

    name = Text(max_length=limits().project_name_max_chars)
    description = Text(max_length=limits().project_description_max_chars, blank=True, required=False)


class ProjectChange(Body):
    """What is to change of a project."""

    name = Text(max_length=limits().project_name_max_chars, required=False)
    description = Text(max_length=limits().project_description_max_chars, blank=True, required=False)


class NewNote(Body):
    """A new note by its owner."""

    content = Text(max_length=limits().content_max_chars)
    source = Text(max_length=limits().source_max_chars, blank=True, required=False, allow_null=True)  # type: ignore[assignment]


class NoteChange(Body):
    """What is to change of a note, and the revision it was decided on."""

    expected_revision = Number(min_value=1, max_value=REVISION_MAX)
    content = Text(max_length=limits().content_max_chars, required=False)
    source = Text(max_length=limits().source_max_chars, blank=True, required=False, allow_null=True)  # type: ignore[assignment]
    status = serializers.ChoiceField(choices=Status.choices, required=False)


class NewStandard(Body):
    """A new standard."""

    title = Text(max_length=limits().standard_title_max_chars)
    content = Text(max_length=limits().standard_content_max_chars)


class StandardChange(Body):
    """What is to change of a standard, and the revision it was decided on."""

    expected_revision = Number(min_value=1, max_value=REVISION_MAX)
    title = Text(max_length=limits().standard_title_max_chars, required=False)
    content = Text(max_length=limits().standard_content_max_chars, required=False)
    status = serializers.ChoiceField(choices=StandardStatus.choices, required=False)


class Assignment(Body):
    """Which standards a project is given, in order, and the assignment's revision it was decided on."""

    expected_revision = Number(min_value=0, max_value=REVISION_MAX)
    standard_ids = serializers.ListField(child=serializers.UUIDField(), max_length=limits().assigned_standards_max)


# What is answered


class ProjectShape(serializers.ModelSerializer[Project]):
    """A project."""

    class Meta:
        model = Project
        fields = [
            "id",
            "name",
            "description",
            "notes_count",
            "memory_revision",
            "standards_revision",
            "assignment_revision",
            "created_at",
        ]
        read_only_fields = fields


class WriterShape(serializers.Serializer[Any]):
    """Who wrote a note: the connection or owner, and the account behind it."""

    kind = serializers.ChoiceField(choices=["owner", "oauth", "key"])
    id = serializers.UUIDField()
    name = serializers.CharField()
    account_id = serializers.UUIDField()


class ActorShape(serializers.Serializer[Any]):
    """Who changed something."""

    kind = serializers.ChoiceField(choices=["owner", "oauth", "key", "operator"])
    id = serializers.UUIDField()
    name = serializers.CharField()


class OriginalShape(serializers.Serializer[Any]):
    """What was submitted."""

    content = serializers.CharField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]


class NoteShape(serializers.Serializer[Any]):
    """A note for its owner (A1)."""

    id = serializers.UUIDField()
    project_id = serializers.UUIDField()
    content = serializers.CharField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    status = serializers.ChoiceField(choices=Status.choices)
    revision = serializers.IntegerField()
    received_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    writer = WriterShape()
    original = OriginalShape()


class NoteRevisionShape(serializers.Serializer[Any]):
    """One revision of a note; revision 1 is the submission (A2)."""

    revision = serializers.IntegerField()
    content = serializers.CharField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    status = serializers.ChoiceField(choices=Status.choices)
    changed_at = serializers.DateTimeField()
    changed_by = ActorShape()


class StandardShape(serializers.ModelSerializer[Standard]):
    """A standard (A3)."""

    class Meta:
        model = Standard
        fields = ["id", "title", "content", "status", "revision", "created_at", "updated_at"]
        read_only_fields = fields


class StandardRevisionShape(serializers.Serializer[Any]):
    """One revision of a standard."""

    revision = serializers.IntegerField()
    title = serializers.CharField()
    content = serializers.CharField()
    status = serializers.ChoiceField(choices=StandardStatus.choices)
    changed_at = serializers.DateTimeField()
    changed_by = ActorShape()


class AssignmentShape(serializers.Serializer[Any]):
    """The standards of a project, in the owner's order (A4)."""

    assignment_revision = serializers.IntegerField()
    standard_ids = serializers.ListField(child=serializers.UUIDField())
    standards = StandardShape(many=True)


class ActivityShape(serializers.Serializer[Any]):
    """A line of the log: who did what when, without content (A7)."""

    id = serializers.IntegerField()
    tag = serializers.CharField()
    at = serializers.DateTimeField()
    actor = ActorShape()
    object_id = serializers.UUIDField(allow_null=True)
    detail = serializers.DictField()


def note_data(note: Note, originals: Mapping[UUID, tuple[str, str | None]]) -> dict[str, Any]:
    """Return a note as it is answered; ``originals`` holds the submissions of those that were edited."""
    content, source = originals.get(note.pk, (note.content, note.source))
    return {
        "id": note.pk,
        "project_id": note.project_id,
        "content": note.content,
        "source": note.source,
        "status": note.status,
        "revision": note.revision,
        "received_at": note.received_at,
        "updated_at": note.updated_at,
        "writer": {
            "kind": note.writer_kind,
            "id": note.writer_id,
            "name": note.writer_name,
            "account_id": note.writer_account_id,
        },
        "original": {"content": content, "source": source},
    }


def wording_data(wording: NoteWording | StandardWording) -> dict[str, Any]:
    """Return one revision as it is answered."""
    names = ("revision", "content", "status", "changed_at")
    own = {"title": wording.title} if isinstance(wording, StandardWording) else {"source": wording.source}
    changed_by = {"kind": wording.changed_by_kind, "id": wording.changed_by_id, "name": wording.changed_by_name}
    return {**{name: getattr(wording, name) for name in names}, **own, "changed_by": changed_by}


def assignment_data(project: Project, standards: Sequence[Standard]) -> dict[str, Any]:
    """Return a project's standards as they are answered."""
    return {
        "assignment_revision": project.assignment_revision,
        "standard_ids": [standard.pk for standard in standards],
        "standards": standards,
    }
