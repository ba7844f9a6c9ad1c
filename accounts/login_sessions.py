"""The store of login sessions: Django's, in the database, so that any instance knows them (S4)."""

from typing import Any

from django.contrib.sessions.backends import db


class SessionStore(db.SessionStore):
    """Looks up what may be a key, and nothing else: a cookie can hold what no table can be asked for."""

    def _validate_session_key(self, key: Any) -> bool:
        """Accept what this store could have made."""
        return isinstance(key, str) and key.isascii() and key.isalnum() and len(key) >= 8
