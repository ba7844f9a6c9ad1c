"""``/api/standards``: the owner's shelf (A3)."""

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memford.core.api.pages import PARAMETERS, by_age
from memford.core.api.views import CHANGED, READ, OwnerView, problems
from projects import access
from projects.api import shapes
from projects.selectors import list_standards, standard_history
from projects.services import create_standard, revise_standard


class Standards(OwnerView):
    """The shelf."""

    @extend_schema(
        operation_id="listStandards",
        parameters=PARAMETERS,
        responses={
            200: inline_serializer(
                "Standards",
                {"standards": shapes.StandardShape(many=True), "next_cursor": serializers.CharField(allow_null=True)},
            ),
            **problems(400),
        },
    )
    def get(self, request: Request) -> Response:
        """List standards, oldest first."""
        standards, cursor = by_age(request, list_standards(owner_id=self.owner_id), "standards")
        return Response({"standards": shapes.StandardShape(standards, many=True).data, "next_cursor": cursor})

    @extend_schema(
        operation_id="createStandard",
        request=shapes.NewStandard,
        responses={201: shapes.StandardShape, **problems(400, 403, 409, 413, 415)},
    )
    def post(self, request: Request) -> Response:
        """Put a standard on the shelf."""
        standard = create_standard(owner_id=self.owner_id, actor=self.actor, **self.read_body(shapes.NewStandard))
        location = {"Location": f"/api/standards/{standard.pk}"}
        return Response(shapes.StandardShape(standard).data, status=201, headers=location)


class OneStandard(OwnerView):
    """One standard."""

    @extend_schema(operation_id="getStandard", responses={200: shapes.StandardShape, **READ})
    def get(self, request: Request, standard_id: str) -> Response:
        """Return the standard."""
        standard = access.standard_of(self.owner_id, standard_id)
        return self.tagged(shapes.StandardShape(standard).data, standard.revision)

    @extend_schema(
        operation_id="changeStandard", request=shapes.StandardChange, responses={200: shapes.StandardShape, **CHANGED}
    )
    def patch(self, request: Request, standard_id: str) -> Response:
        """Edit it, or change its status; each accepted change is a revision."""
        changes = self.read_body(shapes.StandardChange)
        standard = revise_standard(owner_id=self.owner_id, standard_id=standard_id, actor=self.actor, **changes)
        return Response(shapes.StandardShape(standard).data)


class StandardRevisions(OwnerView):
    """A standard's history."""

    @extend_schema(
        operation_id="listStandardRevisions",
        responses={
            200: inline_serializer("StandardRevisions", {"revisions": shapes.StandardRevisionShape(many=True)}),
            **READ,
        },
    )
    def get(self, request: Request, standard_id: str) -> Response:
        """Return every revision, the first one first."""
        history = standard_history(owner_id=self.owner_id, standard_id=standard_id)
        data = [shapes.wording_data(wording) for wording in history]
        return Response({"revisions": shapes.StandardRevisionShape(data, many=True).data})
