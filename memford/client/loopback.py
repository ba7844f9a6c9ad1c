"""Where a browser comes back to after signing in: a page of this machine, once (RFC 8252)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

PATH: Final = "/callback"
_PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Memford</title>
<h1>You may close this window</h1><p>{said} Go on in the terminal.</p></html>"""


class Return:
    """What the browser brings: the query of the redirect, once."""

    def __init__(self, port: int) -> None:
        self.redirect_uri = f"http://127.0.0.1:{port}{PATH}"
        self.queries: Queue[dict[str, str]] = Queue()

    def take(self, url: str) -> bool:
        """Take the address that a browser was sent to, however it came here; return whether it is one."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        if "state" not in query or not {"code", "error"} & query.keys():
            return False
        self.queries.put(query)
        return True


@contextmanager
def awaiting_return() -> Iterator[Return]:
    """Listen on a free port of this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_it = urlsplit(self.path).path == PATH and expected.take(self.path)
            said = "You are signed in." if is_it and "code=" in self.path else "Nothing was approved."
            body = _PAGE.format(said=said).encode()
            self.send_response(200 if is_it else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: the address holds a code."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    expected = Return(server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield expected
    finally:
        server.shutdown()
        server.server_close()
