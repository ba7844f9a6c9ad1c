"""``memford bootstrap``: an owner, a project and a key from the terminal (S2)."""

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from memford.embedded.errors import EmbeddedError
from memford.embedded.state import default_data_dir, running_environment


@dataclass(frozen=True)
class Wish:
    """What the command line asked for."""

    owner: str
    password: str | None = field(repr=False)
    project: str
    access: str
    data_dir: Path | None


def run(wish: Wish, *, as_json: bool) -> None:
    """Make what is missing and print it; the key is shown here and never again.

    Raises:
        EmbeddedError: Nothing runs on the data directory.
        MemfordError: The owner, the project or the access is not acceptable.
    """
    os.environ.update(environment_of(wish.data_dir))
    import django

    django.setup()
    from django.conf import settings

    from mcp_gateway.connections.services import bootstrap

    result = bootstrap(owner_email=wish.owner, password=wish.password, project_name=wish.project, access=wish.access)
    answer = {
        "owner": result.owner_email,
        "project_id": str(result.project_id),
        "key": result.key,
        "mcp_url": f"{settings.PUBLIC_URL}/mcp",
    }
    sys.stdout.write(f"{json.dumps(answer)}\n" if as_json else _lines(answer))


def environment_of(data_dir: Path | None) -> dict[str, str]:
    """Return the settings to work with: the environment's own, else those of the running ``memford up``."""
    path = data_dir or default_data_dir()
    own = {"DJANGO_SETTINGS_MODULE": "memford.settings"}
    if not os.environ.get("DATABASE_URL"):
        return {**running_environment(path), **own}
    try:
        running = running_environment(path)
    except EmbeddedError:
        return own
    # An instance on stores of one's own keeps what the operator left open, such as the secret key.
    is_same = running.get("DATABASE_URL") == os.environ["DATABASE_URL"]
    return {**running, **own} if is_same else own


def _lines(answer: dict[str, str]) -> str:
    """Put the answer for people."""
    labels = {
        "owner": "Owner",
        "project_id": "Project id",
        "key": "Key (shown once)",
        "mcp_url": "MCP endpoint",
    }
    return "".join(f"{labels[name]:<18}{value}\n" for name, value in answer.items())
