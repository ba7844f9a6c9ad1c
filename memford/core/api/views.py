"""The view that every route of the owner's API is (part 6)."""

from typing import Any, Final, cast
from uuid import UUID

from django.utils.http import quote_etag
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memford.core.api.bodies import Body, StrictJSONParser
from memford.core.api.problems import MEDIA_TYPE
from memford.core.api.sessions import OwnerSession
from memford.core.principal import Writer


class Problem(serializers.Serializer[Any]):
    """A problem document (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    errors = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()), required=False
    )
    current_revision = serializers.IntegerField(required=False)


def problems(*statuses: int) -> dict[tuple[int, str], OpenApiResponse]:
    """Return the schema of the problems that a route answers beside its success, for its documentation."""
    meaning = {
        400: "The request is not acceptable.",
        401: "Nobody is signed in.",
        403: "The Origin is not the public one.",
        404: "It is not yours, or is not there.",
        406: "The answer is JSON.",
        409: "It was changed meanwhile, or a limit is reached.",
        413: "The body is too large.",
        415: "The body must be JSON.",
    }
    return {(status, MEDIA_TYPE): OpenApiResponse(Problem, meaning[status]) for status in (401, *statuses)}


READ: Final = problems(404)
LISTED: Final = problems(400, 404)
CHANGED: Final = problems(400, 403, 404, 409, 413, 415)


class OwnerView(APIView):
    """A route of the signed-in owner's: JSON in, JSON out, nothing kept by caches."""

    authentication_classes = [OwnerSession]
    permission_classes = [IsAuthenticated]
    parser_classes = [StrictJSONParser]
    renderer_classes = [JSONRenderer]

    @property
    def owner_id(self) -> UUID:
        """Return the signed-in owner's id, which every selector and service is given."""
        return cast("UUID", self.request.user.pk)

    @property
    def actor(self) -> Writer:
        """Return the owner as the one who acts."""
        return Writer.owner(self.owner_id, str(self.request.user))

    def read_body(self, kind: type[Body]) -> dict[str, Any]:
        """Return the checked body.

        Raises:
            ValidationError: It is not acceptable.
        """
        body = kind(data=self.request.data)
        body.is_valid(raise_exception=True)
        values: dict[str, Any] = body.validated_data
        return values

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Keep what is private out of caches; a tag lets the owner's own browser ask whether it changed."""
        finalized = super().finalize_response(request, response, *args, **kwargs)
        policy = "private, no-cache" if finalized.has_header("ETag") else "no-store"
        finalized.headers.setdefault("Cache-Control", policy)
        return finalized

    def tagged(self, body: Any, *version: object) -> Response:
        """Answer a single object with its version as a tag, or 304 where the caller has it (RFC 9110, 13.1.2)."""
        tag = quote_etag("-".join(str(part) for part in version))
        known = self.request.headers.get("If-None-Match", "")
        if tag in [candidate.strip().removeprefix("W/") for candidate in known.split(",")]:
            return Response(status=304, headers={"ETag": tag})
        return Response(body, headers={"ETag": tag})
