"""Signed-in owners, as the API's own tests have them."""

from tests.api.conftest import api, other_api, stranger

__all__ = ["api", "other_api", "stranger"]
