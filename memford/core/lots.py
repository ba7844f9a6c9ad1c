"""Reading very many rows with a bounded number of them in memory."""

from collections.abc import Iterator

from django.db.models import Model, Q, QuerySet


def lots_by_age[ModelT: Model](rows: QuerySet[ModelT], at_once: int) -> Iterator[ModelT]:
    """Return rows that have ``created_at``, oldest first; one statement reads at most ``at_once`` of them."""
    rows = rows.order_by("created_at", "id")
    lot = list(rows[:at_once])
    while lot:
        yield from lot
        if len(lot) < at_once:
            return
        at = lot[-1].created_at  # type: ignore[attr-defined]
        lot = list(rows.filter(Q(created_at__gt=at) | Q(created_at=at, id__gt=lot[-1].pk))[:at_once])
