"""A client's own port of the loopback interface, on which it waits for its owner's browser (RFC 8252, 7.3)."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.live import wait_until
from tests.oauth import query_of


@dataclass
class Listener:
    """The port, and every return of a browser to it."""

    url: str
    heard: list[str] = field(default_factory=list)

    def arrived(self) -> dict[str, str]:
        """Wait for a browser, take it off the list and return the parameters it came with."""
        wait_until(lambda: self.heard, what="the browser's return")
        return query_of(self.heard.pop(0))


@contextmanager
def listening(host: str = "127.0.0.1") -> Iterator[Listener]:
    """Wait for browsers on a free port of ``127.0.0.1``, ``localhost`` or ``[::1]`` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/callback"):
                listener.heard.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Back</title><h1>You may close this window</h1>")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if host == "[::1]" else socket.AF_INET

    with Server((host.strip("[]"), 0), Handler) as server:
        listener = Listener(f"http://{host}:{server.server_port}/callback")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield listener
        finally:
            server.shutdown()
            thread.join(5)
