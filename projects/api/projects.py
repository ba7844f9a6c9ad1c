"""``/api/projects`` and what stands below a project (A1, A2, A4, A7, A8)."""

from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memford.core.api.pages import PARAMETERS, by_age, by_number
from memford.core.api.views import CHANGED, LISTED, READ, OwnerView, problems
from memford.core.errors import InvalidArguments
from projects import access
from projects.api import shapes
from projects.models import Note, Status
from projects.selectors import (
    NoteFilter,
    assignment_of,
    list_activity,
    list_notes,
    list_projects,
    note_history,
    original_wordings,
)
from projects.services import (
    assign_standards,
    change_project,
    create_project,
    delete_project,
    revise_note,
    write_note,
)

CURSOR = serializers.CharField(allow_null=True)


class Projects(OwnerView):
    """The owner's projects."""

    @extend_schema(
        operation_id="listProjects",
        parameters=PARAMETERS,
        responses={
            200: inline_serializer("Projects", {"projects": shapes.ProjectShape(many=True), "next_cursor": CURSOR}),
            **problems(400),
        },
    )
    def get(self, request: Request) -> Response:
        """List projects, oldest first."""
        projects, cursor = by_age(request, list_projects(owner_id=self.owner_id), "projects")
        return Response({"projects": shapes.ProjectShape(projects, many=True).data, "next_cursor": cursor})

    @extend_schema(
        operation_id="createProject",
        request=shapes.NewProject,
        responses={201: shapes.ProjectShape, **problems(400, 403, 409, 413, 415)},
    )
    def post(self, request: Request) -> Response:
        """Make a project."""
        project = create_project(owner_id=self.owner_id, actor=self.actor, **self.read_body(shapes.NewProject))
        location = {"Location": f"/api/projects/{project.pk}"}
        return Response(shapes.ProjectShape(project).data, status=201, headers=location)


class OneProject(OwnerView):
    """One project."""

    @extend_schema(operation_id="getProject", responses={200: shapes.ProjectShape, **READ})
    def get(self, request: Request, project_id: str) -> Response:
        """Return the project."""
        project = access.project_of(self.owner_id, project_id)
        revisions = (project.memory_revision, project.standards_revision, project.assignment_revision)
        return self.tagged(shapes.ProjectShape(project).data, *revisions)

    @extend_schema(
        operation_id="changeProject", request=shapes.ProjectChange, responses={200: shapes.ProjectShape, **CHANGED}
    )
    def patch(self, request: Request, project_id: str) -> Response:
        """Change its name or description."""
        changes = self.read_body(shapes.ProjectChange)
        project = change_project(owner_id=self.owner_id, project_id=project_id, actor=self.actor, **changes)
        return Response(shapes.ProjectShape(project).data)

    @extend_schema(operation_id="deleteProject", responses={204: None, **problems(403, 404)})
    def delete(self, request: Request, project_id: str) -> Response:
        """Delete it for everyone at once, with its keys and connections (A8)."""
        delete_project(owner_id=self.owner_id, project_id=project_id, actor=self.actor)
        return Response(status=204)


class Notes(OwnerView):
    """A project's notes."""

    @extend_schema(
        operation_id="listNotes",
        parameters=[
            *PARAMETERS,
            OpenApiParameter("status", {"type": "string", "enum": list(Status.values)}, description="Only these."),
        ],
        responses={
            200: inline_serializer("Notes", {"notes": shapes.NoteShape(many=True), "next_cursor": CURSOR}),
            **LISTED,
        },
    )
    def get(self, request: Request, project_id: str) -> Response:
        """List retained notes, newest first, of one status or of all (A1)."""
        only = NoteFilter(status=_status_of(request))
        shown, cursor = by_number(
            request,
            f"notes:{project_id}",
            lambda limit, before: list_notes(
                owner_id=self.owner_id, project_id=project_id, limit=limit, before_seq=before, only=only
            ),
            "seq",
        )
        originals = original_wordings(owner_id=self.owner_id, notes=shown)
        data = [shapes.note_data(note, originals) for note in shown]
        return Response({"notes": shapes.NoteShape(data, many=True).data, "next_cursor": cursor})

    @extend_schema(operation_id="writeNote", request=shapes.NewNote, responses={201: shapes.NoteShape, **CHANGED})
    def post(self, request: Request, project_id: str) -> Response:
        """Write a note."""
        body = self.read_body(shapes.NewNote)
        project = access.project_of(self.owner_id, project_id)
        receipt = write_note(owner_id=self.owner_id, project_id=project.pk, writer=self.actor, **body)
        location = {"Location": f"/api/projects/{project.pk}/notes/{receipt.id}"}
        note = access.note_of(self.owner_id, project.pk, receipt.id)
        return Response(_shaped(note), status=201, headers=location)


class OneNote(OwnerView):
    """One note."""

    @extend_schema(operation_id="getNote", responses={200: shapes.NoteShape, **READ})
    def get(self, request: Request, project_id: str, note_id: str) -> Response:
        """Return the note in its current wording, with what was submitted."""
        note = access.note_of(self.owner_id, project_id, note_id)
        return self.tagged(_shaped(note), note.revision)

    @extend_schema(operation_id="changeNote", request=shapes.NoteChange, responses={200: shapes.NoteShape, **CHANGED})
    def patch(self, request: Request, project_id: str, note_id: str) -> Response:
        """Edit it, or change its status; each accepted change is a revision (A2)."""
        changes = self.read_body(shapes.NoteChange)
        note = revise_note(owner_id=self.owner_id, project_id=project_id, note_id=note_id, actor=self.actor, **changes)
        return Response(_shaped(note))


class NoteRevisions(OwnerView):
    """A note's history."""

    @extend_schema(
        operation_id="listNoteRevisions",
        responses={
            200: inline_serializer("NoteRevisions", {"revisions": shapes.NoteRevisionShape(many=True)}),
            **READ,
        },
    )
    def get(self, request: Request, project_id: str, note_id: str) -> Response:
        """Return every revision, the submission first (A2)."""
        history = note_history(owner_id=self.owner_id, project_id=project_id, note_id=note_id)
        data = [shapes.wording_data(wording) for wording in history]
        return Response({"revisions": shapes.NoteRevisionShape(data, many=True).data})


class ProjectStandards(OwnerView):
    """Which standards a project is given (A4)."""

    @extend_schema(operation_id="getAssignment", responses={200: shapes.AssignmentShape, **READ})
    def get(self, request: Request, project_id: str) -> Response:
        """Return its standards in the owner's order."""
        project, standards = assignment_of(owner_id=self.owner_id, project_id=project_id)
        data = shapes.AssignmentShape(shapes.assignment_data(project, standards)).data
        return self.tagged(data, project.assignment_revision, project.standards_revision)

    @extend_schema(
        operation_id="assignStandards", request=shapes.Assignment, responses={200: shapes.AssignmentShape, **CHANGED}
    )
    def put(self, request: Request, project_id: str) -> Response:
        """Give it exactly these standards in this order."""
        body = self.read_body(shapes.Assignment)
        with transaction.atomic():  # the lock is kept, so that the answer tells of this change and no later one
            assign_standards(owner_id=self.owner_id, project_id=project_id, actor=self.actor, **body)
            project, standards = assignment_of(owner_id=self.owner_id, project_id=project_id)
        return Response(shapes.AssignmentShape(shapes.assignment_data(project, standards)).data)


class ProjectActivity(OwnerView):
    """A project's log (A7)."""

    @extend_schema(
        operation_id="listActivity",
        parameters=PARAMETERS,
        responses={
            200: inline_serializer("Activity", {"activity": shapes.ActivityShape(many=True), "next_cursor": CURSOR}),
            **LISTED,
        },
    )
    def get(self, request: Request, project_id: str) -> Response:
        """List who did what when, newest first."""
        shown, cursor = by_number(
            request,
            f"activity:{project_id}",
            lambda limit, before: list_activity(
                owner_id=self.owner_id, project_id=project_id, limit=limit, before_id=before
            ),
            "pk",
        )
        data = [
            {
                "id": line.pk,
                "tag": line.tag,
                "at": line.at,
                "actor": {"kind": line.actor_kind, "id": line.actor_id, "name": line.actor_name},
                "object_id": line.object_id,
                "detail": line.detail,
            }
            for line in shown
        ]
        return Response({"activity": shapes.ActivityShape(data, many=True).data, "next_cursor": cursor})


def _status_of(request: Request) -> str | None:
    status = request.query_params.get("status")
    if status is not None and status not in Status.values:
        raise InvalidArguments({"status": f"must be one of {', '.join(Status.values)}"})
    return status


def _shaped(note: Note) -> dict[str, Any]:
    originals = original_wordings(owner_id=note.owner_id, notes=[note])
    return dict(shapes.NoteShape(shapes.note_data(note, originals)).data)
