"""The cache, with and without Redis (P4)."""

import logging
from typing import Any

import pytest
from django.conf import settings

from memford.core import cache as module
from memford.core.cache import PatientCache


def new_cache(location: str) -> PatientCache:
    """Return a cache of its own."""
    return PatientCache(location, {"KEY_PREFIX": "tests"})


def test_values_come_back_and_are_kept_as_json() -> None:
    cache, other = new_cache(settings.CELERY_BROKER_URL), new_cache(settings.CELERY_BROKER_URL)
    for value in ([1.5, 2.5], {"a": [None, True]}, "ü", 7):
        cache.set("value", value, 30)
        assert other.get("value") == value, "another process sees it"
    assert cache.add("value", 1) is False
    assert cache.delete("value") is True
    assert cache.get("value", "none") == "none"


def test_without_redis_it_is_this_processs_memory_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    cache = new_cache("redis://:hunter2@127.0.0.1:1/0")
    with caplog.at_level(logging.WARNING):
        assert cache.add("key", 1, 30) is True
        assert cache.add("key", 1, 30) is False
        assert cache.incr("key") == 2
        assert cache.has_key("key")
        cache.set("key", [1], 30)
        assert cache.get("key") == [1]
        assert cache.touch("key", 60) is True
        assert cache.delete("key") is True
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert "hunter2" not in said[0]


def test_it_looks_for_redis_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: Any = new_cache(settings.CELERY_BROKER_URL)
    cache._away_until, cache._is_away = float("inf"), True
    cache.set("seen", 1, 30)
    assert new_cache(settings.CELERY_BROKER_URL).get("seen") is None
    cache._away_until = 0.0
    cache.set("seen", 1, 30)
    assert new_cache(settings.CELERY_BROKER_URL).get("seen") == 1
    assert module.RETRY_AFTER_SECONDS <= 10


def test_it_cannot_empty_the_brokers_queues() -> None:
    with pytest.raises(NotImplementedError):
        new_cache(settings.CELERY_BROKER_URL).clear()
