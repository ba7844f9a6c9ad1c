"""OAuth's tables, swapped in for django-oauth-toolkit's before its first migration.

Where its defaults fall short of the contract: a refresh may issue siblings, so the source of an access token is
a foreign key and not one-to-one (O7); a code is kept as a digest and stays after use, so that replaying it is
seen (O8, O9); and every grant and token belongs to a connection, whose end ends them all.
"""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractApplication,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
)
from oauth2_provider.settings import oauth2_settings

from mcp_gateway.authorization.redirects import is_registered, problem_of
from mcp_gateway.connections.models import Connection


class OwnedByUser(models.Model):
    """The library calls the owner ``user``; the column is ``owner_id``, as in every tenant's row."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_column="owner_id")

    class Meta:
        abstract = True


class Application(AbstractApplication):
    """A registered OAuth client; it belongs to nobody until an owner approves a connection (O3)."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    # Written at most once a day; a client that nobody uses any more is forgotten (O10).
    last_used_at = models.DateTimeField(null=True, blank=True)

    def redirect_uri_allowed(self, uri: str) -> bool:
        """Say whether the browser may return there: exact, but for the port of a loopback address (O3)."""
        return is_registered(uri, self.redirect_uris.split())

    def clean(self) -> None:
        """Hold the redirect URIs against O3; the library's own rule knows fewer schemes.

        Raises:
            ValidationError: One of them cannot be registered.
        """
        problems = [problem for uri in self.redirect_uris.split() if (problem := problem_of(uri)) is not None]
        if problems:
            raise ValidationError({"redirect_uris": problems})

    class Meta(AbstractApplication.Meta):
        abstract = False


class Grant(OwnedByUser, AbstractGrant):
    """An authorization code's digest, claimed once and kept for the detection of replay (O8)."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="grants", null=True)
    consumed_at = models.DateTimeField(null=True)

    class Meta(AbstractGrant.Meta):
        abstract = False


class AccessToken(OwnedByUser, AbstractAccessToken):
    """An access token's digest; siblings of one refresh share their source (O7)."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="access_tokens", null=True)
    source_refresh_token = models.ForeignKey(
        oauth2_settings.REFRESH_TOKEN_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="refreshed_access_tokens",
    )

    class Meta(AbstractAccessToken.Meta):
        abstract = False


class RefreshToken(OwnedByUser, AbstractRefreshToken):
    """A refresh token's digest, its place in the family, and when a successor of it was first used (O7)."""

    # The token that was presented for this one; its siblings share it.
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="successors")
    siblings_issued = models.SmallIntegerField(default=0, db_default=0)
    last_used_at = models.DateTimeField(null=True)
    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="refresh_tokens", null=True)
    successor_used_at = models.DateTimeField(null=True)

    class Meta(AbstractRefreshToken.Meta):
        abstract = False


class IDToken(OwnedByUser, AbstractIDToken):
    """Never issued: Memford speaks OAuth, not OpenID Connect. The library needs its table."""

    class Meta(AbstractIDToken.Meta):
        abstract = False
