"""``/api/me`` and ``/api/logout``."""

from typing import Any

from django.contrib.auth import logout
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.leaving import forgetting
from memford.core.api.views import OwnerView, problems


class MeShape(serializers.Serializer[Any]):
    """The signed-in owner."""

    id = serializers.UUIDField()
    email = serializers.EmailField()
    email_verified_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class Me(OwnerView):
    """Who is signed in."""

    @extend_schema(operation_id="getMe", responses={200: MeShape, **problems()})
    def get(self, request: Request) -> Response:
        """Return the signed-in owner."""
        return Response(MeShape(request.user).data)


class Logout(OwnerView):
    """The end of this login session."""

    @extend_schema(operation_id="signOut", request=None, responses={204: None, **problems(403)})
    def post(self, request: Request) -> Response:
        """Sign out in this browser; whatever is sent along is not looked at."""
        logout(request._request)
        return forgetting(Response(status=204))
