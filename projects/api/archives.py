"""A project taken out whole and put back: ``/api/projects/:id/export``, ``/api/projects/import`` (docs/archive.md)."""

import io
from typing import Any, Final
from uuid import UUID

from django.core.exceptions import RequestDataTooBig
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from memford.core.api.views import OwnerView, problems
from memford.core.errors import InvalidArguments
from memford.core.limits import limits
from projects.archive import export_markdown, export_project, import_project

JSON: Final = "application/json"
MARKDOWN: Final = "text/markdown"
FORMATS: Final = ("json", "markdown")


class Upload(io.RawIOBase):
    """A request's body as a file that can be read once."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        data: bytes = self._stream.read(size)
        return data


class AsItCame(BaseParser):
    """Hands the body over unread: an archive may be larger than memory should be asked for."""

    media_type = JSON

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Return the body as a file."""
        return Upload(stream)


class ProblemShape(serializers.Serializer[Any]):
    """What stands in the way of an import: where, and what."""

    place = serializers.CharField()
    problem = serializers.CharField()


class ImportShape(serializers.Serializer[Any]):
    """What an import did, or would do where ``project_id`` is null."""

    project_id = serializers.UUIDField(allow_null=True)
    project_name = serializers.CharField()
    notes = serializers.IntegerField()
    note_revisions = serializers.IntegerField()
    standards_new = serializers.IntegerField()
    standards_reused = serializers.IntegerField()
    stored_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    problems = ProblemShape(many=True)


class ProjectExport(OwnerView):
    """A project taken out whole."""

    @extend_schema(
        operation_id="exportProject",
        parameters=[
            OpenApiParameter(
                "format",
                {"type": "string", "enum": list(FORMATS), "default": FORMATS[0]},
                description="`json` can be imported again, `markdown` is for reading.",
            )
        ],
        responses={
            (200, JSON): OpenApiResponse(OpenApiTypes.OBJECT, "The archive, version 1."),
            (200, MARKDOWN): OpenApiResponse(OpenApiTypes.STR, "Standards and notes in their current wording."),
            **problems(400, 404),
        },
    )
    def get(self, request: Request, project_id: str) -> StreamingHttpResponse:
        """Stream the project as one file, from one snapshot."""
        kind = request.query_params.get("format", FORMATS[0])
        if kind not in FORMATS:
            raise InvalidArguments({"format": f"must be one of {', '.join(FORMATS)}"})
        export = export_project if kind == "json" else export_markdown
        spool = export(owner_id=self.owner_id, project_id=project_id).as_async()
        media_type, ending = (JSON, "json") if kind == "json" else (f"{MARKDOWN}; charset=utf-8", "md")
        name = f"memford-{UUID(project_id)}.{ending}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Length": str(spool.size)}
        return StreamingHttpResponse(spool, content_type=media_type, headers=headers)


class ProjectImport(OwnerView):
    """A project put back."""

    parser_classes = [AsItCame]

    @extend_schema(
        operation_id="importProject",
        parameters=[
            OpenApiParameter(
                "dry_run",
                {"type": "string", "enum": ["true", "false"], "default": "true"},
                description="`true` says what would happen and stores nothing.",
            )
        ],
        # Whatever it is, a dry run says what is wrong with it.
        request={JSON: {"description": "An archive, as it was exported."}},
        responses={
            200: OpenApiResponse(ImportShape, "What would happen."),
            201: OpenApiResponse(ImportShape, "What was made."),
            **problems(400, 403, 404, 409, 413, 415),
        },
    )
    def post(self, request: Request) -> Response:
        """Make a new project of an archive, in one transaction, or say what would become of it."""
        dry_run = _dry_run(request)
        if int(request.headers.get("Content-Length") or 0) > limits().archive_max_bytes:
            raise RequestDataTooBig
        # What has no body at all is not even parsed.
        archive: Any = request.data if isinstance(request.data, Upload) else b""
        result = import_project(owner_id=self.owner_id, actor=self.actor, archive=archive, dry_run=dry_run)
        body = ImportShape(result).data
        if dry_run:
            return Response(body)
        return Response(body, status=201, headers={"Location": f"/api/projects/{result.project_id}"})


def _dry_run(request: Request) -> bool:
    given = request.query_params.get("dry_run", "true")
    if given not in {"true", "false"}:
        raise InvalidArguments({"dry_run": "must be true or false"})
    return given == "true"
