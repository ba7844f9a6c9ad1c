"""What all flows share: a log that shows failures and not each of thousands of calls."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def quiet_http_client() -> Iterator[None]:
    """Keep the HTTP client's line for each call out of the reports."""
    logger = logging.getLogger("httpx2")
    level = logger.level
    logger.setLevel(logging.WARNING)
    yield
    logger.setLevel(level)
