"""Fixtures that every part of the tests shares."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cast import Agent, Person, new_person
from tests.live import LiveServer, live_server
from tests.wire import Wire


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: Any) -> None:
    """Migrate the one database, in pytest-django's place; of several xdist workers one does it and others wait."""
    from memford.embedded.migrations import migrate_once

    with django_db_blocker.unblock():
        migrate_once()


@pytest.fixture(scope="session", autouse=True)
def database_access(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Let every test, and every thread it starts, use the database."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def owner() -> Person:
    """The owner whose memory it is."""
    return new_person()


@pytest.fixture
def other_owner() -> Person:
    """Somebody else who uses the service."""
    return new_person()


@pytest.fixture
def agent(owner: Person) -> Agent:
    """The owner's agent."""
    return owner.new_agent()


@pytest.fixture(scope="session")
def server(database_access: None) -> Iterator[LiveServer]:
    """One real server for all tests that only call it."""
    with live_server() as running:
        yield running


@pytest.fixture
def wire(server: LiveServer, agent: Agent) -> Iterator[Wire]:
    """A bare HTTP client that speaks for the owner's agent."""
    with Wire(server.url, agent.key) as client:
        yield client
