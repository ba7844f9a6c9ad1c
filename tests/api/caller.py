"""An owner's browser calling the API, as a page's script does."""

from dataclasses import dataclass, field
from typing import Any

import httpx2
from django.conf import settings

from accounts.models import Owner
from tests.oauth import login_cookie, send


@dataclass
class Caller:
    """Calls the API with a login session, or without one."""

    url: str
    owner: Owner | None = None
    cookie: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.cookie = None if self.owner is None else login_cookie(self.owner)

    def send(self, method: str, path: str, body: Any = None, **headers: str | None) -> httpx2.Response:
        """Send a request as a page of ours does; ``None`` leaves a header out, underscores stand for dashes."""
        usual: dict[str, str | None] = {"Origin": self.url}
        if self.cookie is not None:
            usual["Cookie"] = f"{settings.SESSION_COOKIE_NAME}={self.cookie}"
        usual |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in usual.items() if value is not None}
        more: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
        if body is None:
            more = {}
        return send(method, f"{self.url}/api/{path}", headers=given, **more)

    def get(self, path: str, **headers: str | None) -> Any:
        """Get what must be there."""
        answer = self.send("GET", path, **headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any, status: int = 201) -> Any:
        """Post what must be taken."""
        answer = self.send("POST", path, body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.text else None


def check_problem(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """Judge a problem document and return it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert (body["status"], body["code"]) == (status, code), body
    assert body["type"] == f"urn:memford:problem:{code}"
    assert body["title"]
    assert body["detail"]
    return body
