"""The ``memford`` command.

Heavy imports (Django, rich, psycopg) stay inside the commands, so that ``memford --help`` is quick.
"""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memford.cli.output import JsonOption, ProjectOption, UrlOption, told
from memford.embedded.errors import EmbeddedError

USAGE = "A shared memory that people and AI agents can trust, over the Model Context Protocol."
app = typer.Typer(
    name="memford",
    help=USAGE,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where state lives. [default: $MEMFORD_DATA_DIR, else .memford]", metavar="PATH"),
]


NoBrowserOption = Annotated[
    bool, typer.Option("--no-browser", help="Open no browser; paste the address that you are sent to.")
]


class HookEvent(StrEnum):
    """When a host calls."""

    SESSION_START = "session-start"
    PRE_COMPACT = "pre-compact"


class Access(StrEnum):
    """What a key may do."""

    READ_WRITE = "read_write"
    READ_ONLY = "read_only"


@app.callback()
def memford() -> None:
    """Hold the commands together; without it a single command would lose its name."""


@app.command()
def up(
    host: Annotated[str, typer.Option(help="Address; localhost binds 127.0.0.1 and ::1.")] = "localhost",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to bind.")] = 8000,
    data_dir: DataDirOption = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Web processes. [default: $MEMFORD_WORKERS or 2]"),
    ] = None,
) -> None:
    """Start everything on one machine: stores, web server and jobs (S1).

    With DATABASE_URL and REDIS_URL in the environment those stores are used, and no embedded one starts.
    """
    from memford.cli.up import Options, run

    run(Options.of(host=host, port=port, data_dir=data_dir, workers=workers))


@app.command()
def bootstrap(
    owner: Annotated[str, typer.Option(help="E-mail of the owner; made where missing.")],
    project: Annotated[str, typer.Option(help="Name of the project; made where missing.")],
    password: Annotated[
        str | None,
        typer.Option(envvar="MEMFORD_OWNER_PASSWORD", help="Password of a new owner."),
    ] = None,
    access: Annotated[Access, typer.Option(help="What the new key may do.")] = Access.READ_WRITE,
    data_dir: DataDirOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object on the last line.")] = False,
) -> None:
    """Make an owner and a project where missing, and always a new key (S2).

    Works on the running `memford up` of the data directory, or on DATABASE_URL where that is set.
    """
    from memford.cli.bootstrap import Wish, run

    run(
        Wish(owner=owner, password=password, project=project, access=access.value, data_dir=data_dir),
        as_json=as_json,
    )


@app.command()
def invite(data_dir: DataDirOption = None) -> None:
    """Print a link by which one person may sign up where MEMFORD_SIGNUP=invite (W1).

    Works on the running `memford up` of the data directory, or on DATABASE_URL where that is set.
    """
    from memford.cli.invite import run

    run(data_dir)


@app.command()
def login(url: UrlOption = None, no_browser: NoBrowserOption = False, as_json: JsonOption = False) -> None:
    """Sign in at a server in your browser, and pick the project (C1).

    memford login --url https://memford.example.com
    """
    with told(as_json=as_json):
        from memford.cli.login import login as run

        run(url, browser=not no_browser, as_json=as_json)


@app.command()
def logout(url: UrlOption = None, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Sign out: the connection ends at the server, and is forgotten here."""
    with told(as_json=as_json):
        from memford.cli.login import logout as run

        run(url, project, as_json=as_json)


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Show which server and project are used here, and why.

    In this order: options, MEMFORD_URL with MEMFORD_API_KEY, .memford.toml, logins.
    """
    with told(as_json=as_json):
        from memford.cli.login import status as run

        run(as_json=as_json)


@app.command()
def projects(url: UrlOption = None, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show the project that the connection reaches."""
    with told(as_json=as_json):
        from memford.cli.login import projects as run

        run(url, project, as_json=as_json)


@app.command()
def read(
    everything: Annotated[bool, typer.Option("--all", help="All notes, and not the newest page alone.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Notes of the newest page.")] = 100,
    watch: Annotated[bool, typer.Option("--watch", help="Stay, and print what comes.")] = False,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print notes and standards as Markdown, or as JSON.

    memford read --all > memory.md
    """
    with told(as_json=as_json):
        from memford.cli.reading import read as run

        run(url, project, everything=everything, limit=limit, watch=watch, as_json=as_json)


@app.command()
def check(url: UrlOption = None, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Say what a connection has, and for each problem the one thing to do (C3)."""
    with told(as_json=as_json):
        from memford.cli.checking import check as run

        raise typer.Exit(run(url, project, as_json=as_json))


@app.command()
def write(
    file: Annotated[str, typer.Argument(help="A file in UTF-8, or - for standard input.")] = "-",
    source: Annotated[str | None, typer.Option(help="Where it comes from.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="A lowercase UUID of your own; repeated with it, it is stored once.")
    ] = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a note: kept on disk first, and called saved once it was read back (C2).

    echo "The lamp turns once in 8 seconds." | memford write - --source keeper
    """
    with told(as_json=as_json):
        from memford.cli.writing import write as run

        raise typer.Exit(run(file, source, checkpoint, url, project, as_json=as_json))


@app.command()
def pending(as_json: JsonOption = False) -> None:
    """List what was written and is not known to be saved."""
    with told(as_json=as_json):
        from memford.cli.writing import pending as run

        run(as_json=as_json)


@app.command()
def flush(
    resend: Annotated[
        bool, typer.Option("--resend", help="Send by this connection what another one wrote and is not found.")
    ] = False,
    url: UrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send what is pending again, each with its own checkpoint: nothing is stored twice."""
    with told(as_json=as_json):
        from memford.cli.writing import flush as run

        raise typer.Exit(run(url, project, resend=resend, as_json=as_json))


@app.command()
def mcp(
    check_only: Annotated[bool, typer.Option("--check", help="Say what the connection has, and end.")] = False,
    url: UrlOption = None,
    project: ProjectOption = None,
) -> None:
    """Serve the memory to a local host on standard input and output (C3).

    claude mcp add memford -- memford mcp
    """
    with told(as_json=False):
        if check_only:
            from memford.cli.checking import check as run_check

            raise typer.Exit(run_check(url, project, as_json=False))
        from memford.cli.bridge import run

        run(url, project)


@app.command(hidden=True)
def hook(event: Annotated[HookEvent, typer.Argument(help="What happened at the host.")]) -> None:
    """Tell a coding agent's host what it should know at an event; it fails open, and records nothing."""
    from memford.cli.hooks import run

    run(event.value)


def main() -> None:
    """Run the command line; what goes wrong is one line on stderr and exit status 1 (2 for wrong usage).

    ``MEMFORD_DEBUG=1`` in the environment shows the traceback instead.
    """
    try:
        app(prog_name="memford")
    except Exception as error:
        if os.environ.get("MEMFORD_DEBUG", "").lower() in {"1", "true", "on", "yes"}:
            raise
        sys.stderr.write(f"memford: {_readable(error)}\n")
        sys.exit(1)


def _readable(error: Exception) -> str:
    """Say what went wrong; only what may come from Django needs Django to be told."""
    if isinstance(error, EmbeddedError):
        return str(error)
    from memford.cli.failures import readable

    return readable(error)
