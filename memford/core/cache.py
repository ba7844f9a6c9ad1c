"""Django's cache in Redis, which never is a reason to answer 5xx: without Redis it is this process's memory (P4)."""

import json
import logging
import time
from collections.abc import Callable
from typing import Any, Final

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis import RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

RETRY_AFTER_SECONDS: Final = 5.0
SOCKET_TIMEOUT_SECONDS: Final = 0.5

_log = logging.getLogger(__name__)


class JsonSerializer:
    """Keeps values as JSON: what comes out of Redis is read, and never run."""

    def dumps(self, obj: Any) -> bytes | int:
        """Return what Redis stores; integers stay bare, so that Redis can count with them."""
        return obj if type(obj) is int else json.dumps(obj).encode()

    def loads(self, data: bytes) -> Any:
        """Return the value again."""
        return json.loads(data)


class PatientCache(RedisCache):
    """Redis while it answers; for five seconds after it did not, the memory of this process."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        options = {
            "serializer": JsonSerializer(),
            "socket_timeout": SOCKET_TIMEOUT_SECONDS,
            "socket_connect_timeout": SOCKET_TIMEOUT_SECONDS,
            # A request waits for one try; the next minutes' requests are the retry.
            "retry": Retry(NoBackoff(), retries=0),
        }
        super().__init__(server, {**params, "OPTIONS": {**options, **params.get("OPTIONS", {})}})
        self._memory = LocMemCache(f"beside {self.key_prefix}", {**params, "OPTIONS": {}})
        self._away_until = 0.0
        self._is_away = False

    def _either(self, redis: Callable[[], Any], memory: Callable[[], Any]) -> Any:
        """Ask Redis, or memory where Redis is away; say it once when that changes."""
        if time.monotonic() < self._away_until:
            return memory()
        try:
            answer = redis()
        except (RedisError, OSError):
            self._away_until = time.monotonic() + RETRY_AFTER_SECONDS
            if not self._is_away:
                self._is_away = True
                _log.warning("Redis does not answer; the cache is this process's memory until it does.")
            return memory()
        if self._is_away:
            self._is_away = False
            _log.warning("Redis answers again.")
        return answer

    def add(self, *args: Any, **kwargs: Any) -> Any:
        """Set a value where there is none, and say whether it was."""
        return self._either(lambda: RedisCache.add(self, *args, **kwargs), lambda: self._memory.add(*args, **kwargs))

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """Return a value."""
        return self._either(lambda: RedisCache.get(self, *args, **kwargs), lambda: self._memory.get(*args, **kwargs))

    def set(self, *args: Any, **kwargs: Any) -> None:
        """Set a value."""
        self._either(lambda: RedisCache.set(self, *args, **kwargs), lambda: self._memory.set(*args, **kwargs))

    def touch(self, *args: Any, **kwargs: Any) -> Any:
        """Give a value a new end."""
        return self._either(
            lambda: RedisCache.touch(self, *args, **kwargs), lambda: self._memory.touch(*args, **kwargs)
        )

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        """Forget a value."""
        return self._either(
            lambda: RedisCache.delete(self, *args, **kwargs), lambda: self._memory.delete(*args, **kwargs)
        )

    def incr(self, *args: Any, **kwargs: Any) -> Any:
        """Raise a number."""
        return self._either(lambda: RedisCache.incr(self, *args, **kwargs), lambda: self._memory.incr(*args, **kwargs))

    def has_key(self, *args: Any, **kwargs: Any) -> Any:
        """Return whether there is a value."""
        return self._either(
            lambda: RedisCache.has_key(self, *args, **kwargs), lambda: self._memory.has_key(*args, **kwargs)
        )

    def clear(self) -> None:
        """Refuse: Redis holds the broker's queues beside the cache, and the library's way would empty it all."""
        raise NotImplementedError("Delete by key; Redis is shared with the broker.")
