"""Gunicorn's configuration, the same embedded and in production: ``gunicorn -c deploy/gunicorn.conf.py``.

Read from the environment: ``MEMFORD_HOST`` (default ``localhost``), ``MEMFORD_PORT`` (8000),
``MEMFORD_WORKERS`` (1), ``MEMFORD_GRACEFUL_TIMEOUT_SECONDS`` (3), ``MEMFORD_SERVE_WHEN`` (see the worker).
"""

import gc
import os
import signal
import socket
from importlib import import_module
from typing import Any


def addresses(host: str, port: int) -> list[str]:
    """Return what to bind: for ``localhost`` both loopback addresses, IPv6 where the machine has it (S1)."""
    if host != "localhost":
        return [f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"]
    return [f"127.0.0.1:{port}", *([f"[::1]:{port}"] if _has_ipv6_loopback() else [])]


def _has_ipv6_loopback() -> bool:
    """Return whether ``::1`` can be bound."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


wsgi_app = "memford.asgi:application"
worker_class = "memford.gunicorn_worker.Worker"
bind = addresses(os.environ.get("MEMFORD_HOST", "localhost"), int(os.environ.get("MEMFORD_PORT", "8000")))
workers = int(os.environ.get("MEMFORD_WORKERS", "1"))
# Each worker loads the application itself: database connections and threads may not cross a fork.
preload_app = False
# Libraries may: they take most of the time to load, and a worker that replaces a killed one is back at once.
LIBRARIES = (
    "cryptography.fernet",
    "django.core.handlers.asgi",
    "django.db.backends.postgresql.base",
    "django.db.models",
    "fido2.server",
    "gunicorn.workers.gasgi",
    "mcp.server",
    "orjson",
    "pydantic_settings",
    "redis",
    "structlog.dev",
)

keepalive = 75
timeout = 60
graceful_timeout = int(os.environ.get("MEMFORD_GRACEFUL_TIMEOUT_SECONDS", "3"))
max_requests = 0
asgi_loop = "asyncio"
asgi_lifespan = "on"

# Enough for a long authorization request and large cookies, far below what could hurt.
limit_request_line = 8190
limit_request_fields = 100
limit_request_field_size = 16_380

# No peer may say which host, scheme or address a request came from (G6).
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}
proxy_protocol = "off"

# A control socket would be shared by all instances of one user.
control_socket_disable = True
# The application logs its own requests, without credentials (P2).
accesslog = None
errorlog = "-"
loglevel = "warning"


def on_starting(_server: Any) -> None:
    """Let the workers, which inherit it, hold as many streams open as the system allows: each is a file."""
    from memford.open_files import raise_open_files_limit

    raise_open_files_limit()


def when_ready(_server: Any) -> None:
    """Load the libraries in the master; the port is bound by now, so clients wait and are not refused."""
    for library in LIBRARIES:
        import_module(library)


def post_fork(_server: Any, worker: Any) -> None:
    """End a worker with its master, so that a killed master leaves no port taken."""
    from memford.embedded.processes import die_with_parent

    # Until the worker sets its own handlers it would put signals into its copy of the master's queue, unread.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    die_with_parent(signal.SIGTERM, worker.ppid)


def post_worker_init(_worker: Any) -> None:
    """Keep what was loaded out of every garbage collection to come: it stays, and going through it holds up calls."""
    gc.freeze()
