"""Is it alive, and can it serve? (P2)"""

from django.conf import settings
from django.db import Error, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from memford.core.database import APP, SYSTEM


@require_safe
def alive(request: HttpRequest) -> JsonResponse:
    """Answer as long as the process does; no store is asked."""
    return JsonResponse({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 where agents and owners can be served, 503 where the database or its tables are missing.

    A missing cache is reported as ``degraded``, not as down: nothing that is remembered depends on it.
    """
    database, cache = _database(), _cache()
    status = "ready" if database == "ok" else "down"
    if status == "ready" and cache != "ok":
        status = "degraded"
    body = {"status": status, "database": database, "cache": cache}
    response = JsonResponse(body, status=503 if status == "down" else 200)
    response["Cache-Control"] = "no-store"
    return response


def _database() -> str:
    try:
        with connections[APP].cursor() as cursor:
            cursor.execute("SELECT 1")
        executor = MigrationExecutor(connections[SYSTEM])
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        return "unreachable"
    return "migrations pending" if pending else "ok"


def _cache() -> str:
    try:
        # One try: who asks is in a hurry, and asks again.
        once = Retry(NoBackoff(), retries=0)
        with Redis.from_url(
            settings.CELERY_BROKER_URL, socket_timeout=1, socket_connect_timeout=1, retry=once
        ) as redis:
            redis.ping()
    except RedisError:
        return "unreachable"
    return "ok"
