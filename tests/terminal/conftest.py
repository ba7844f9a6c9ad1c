"""Terminals: one with a project key, and one whose user signs in by a browser."""

import sys
from pathlib import Path

import pytest

from tests.cast import Agent, Person
from tests.flows.approving import new_person_with_password
from tests.live import ROOT, LiveServer
from tests.terminal.terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A terminal whose user has done nothing yet."""
    return Terminal(tmp_path)


@pytest.fixture
def keyed(terminal: Terminal, server: LiveServer, agent: Agent) -> Terminal:
    """A terminal with the agent's key in its environment."""
    terminal.variables |= {"MEMFORD_URL": server.url, "MEMFORD_API_KEY": agent.key}
    return terminal


@pytest.fixture
def person() -> Person:
    """An owner who can sign in as people do."""
    return new_person_with_password()


@pytest.fixture
def at_browser(terminal: Terminal, person: Person) -> Terminal:
    """A terminal at a machine with a browser, at which the owner sits."""
    return with_browser(terminal, person)


def with_browser(terminal: Terminal, person: Person, **answers: str) -> Terminal:
    """Let a person sit at the browser that the command opens."""
    import os

    said = {
        "email": person.owner.email,
        "project": "Lighthouse",
        "access": "read_write",
        "decision": "approve",
        **answers,
    }
    script = terminal.home / "browser.sh"
    settings = {
        name: os.environ[name] for name in os.environ if name.startswith(("MEMFORD_", "DATABASE_", "REDIS_", "DJANGO_"))
    }
    settings |= {f"TEST_{name.upper()}": value for name, value in said.items()}
    exports = "".join(f"export {name}='{value}'\n" for name, value in settings.items())
    script.write_text(f'#!/bin/sh\n{exports}cd "{ROOT}"\nexec "{sys.executable}" -m tests.terminal.browser "$1"\n')
    script.chmod(0o700)
    terminal.variables["BROWSER"] = f"{script} %s"
    return terminal
