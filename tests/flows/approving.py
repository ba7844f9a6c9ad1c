"""A person with a browser: opens the address that a client hands over, signs in, picks a project and decides."""

import html
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import httpx2

from accounts.services import ensure_owner
from tests.cast import Person, unique_email
from tests.oauth import CSRF, Browser, send

PASSWORD: Final = "a lamp turns in 8 seconds"
_PROJECT: Final = re.compile(r'name="project" value="([^"]+)"[^>]*><span>([^<]+)</span>')
_NEXT: Final = re.compile(r'name="next" value="([^"]+)"')


def new_person_with_password() -> Person:
    """Make an owner with a project, who can sign in as people do."""
    return Person(ensure_owner(email=unique_email(), password=PASSWORD))


@dataclass
class Approver:
    """Somebody whom agents ask, with what they answer and every request they were asked with.

    Nothing here looks into the database: all is done by the pages, and the project is found by its name.
    """

    email: str
    password: str = PASSWORD
    project: str = "Lighthouse"
    access: str = "read_write"
    decision: str = "approve"
    asked: list[str] = field(default_factory=list)

    def open(self, url: str) -> httpx2.Response:
        """Go the whole way and follow it to where the client waits; return what the client shows."""
        return send("GET", self.decide(url))

    def decide(self, url: str) -> str:
        """Go the whole way in a browser that was nowhere before; return where it is sent at the end."""
        self.asked.append(url)
        parts = urlsplit(url)
        browser = Browser(f"{parts.scheme}://{parts.netloc}")
        back = self._sign_in(browser, f"{parts.path}?{parts.query}")
        page = browser.get(back)
        assert page.status_code == 200, page.text
        chosen = {html.unescape(name): value for value, name in _PROJECT.findall(page.text)}[self.project]
        answer = _submit(browser, page, back, project=chosen, access=self.access, decision=self.decision)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def _sign_in(self, browser: Browser, path: str) -> str:
        """Be sent to sign in, do so, and return where one is sent back to."""
        sent = browser.get(path)
        assert sent.status_code == 302, sent.text
        assert sent.headers["location"].startswith("/accounts/login/?")
        page = browser.get(sent.headers["location"])
        following = _NEXT.search(page.text)
        assert following is not None, page.text
        fields = {"login": self.email, "password": self.password, "next": html.unescape(following[1])}
        answer = _submit(browser, page, "/accounts/login/", **fields)
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]


def _submit(browser: Browser, page: httpx2.Response, path: str, **fields: str) -> httpx2.Response:
    """Send the form of a page."""
    token = CSRF.search(page.text)
    assert token is not None, page.text
    form = {"csrfmiddlewaretoken": token[1], **fields}
    return browser.send("POST", path, data=form, headers={"Origin": browser.url})
