"""No password, code, link or session stands in a log (W1, P2)."""

import logging
import re

import pytest
from django.conf import settings
from django.core.mail.backends import locmem
from structlog.stdlib import ProcessorFormatter

from accounts.services import ensure_owner, issue_invitation, issue_sign_in_link
from tests.accounts.browser import PASSWORD, code_for, mails_to, new_browser, sign_in, sign_up, signed_up, verify
from tests.cast import unique_email


def test_nothing_that_opens_an_account_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    address = unique_email()
    browser = new_browser()
    sign_up(browser, address)
    code = code_for(address)
    browser.post("/accounts/confirm-email/", {"code": "WRONG1"})
    verify(browser, address)
    sign_in(new_browser(), address, "a wrong " + PASSWORD)
    sign_in(other := new_browser(), address)
    new_browser().post("/accounts/password/reset/", {"email": address})
    found = re.search(r"/key/(\S+)/$", mails_to(address)[-1].body, re.MULTILINE)
    assert found
    new_browser().get(f"/accounts/password/reset/key/{found[1]}/")
    link = issue_sign_in_link(owner=ensure_owner(email=address)).rpartition("/")[2]
    new_browser().post(f"/sign-in/{link}")
    invitation = issue_invitation().rpartition("/")[2]
    new_browser().get(f"/invitation/{invitation}")
    new_browser(enforce_csrf_checks=True).post(f"/sign-in/{link}")
    new_browser().post(f"/sign-in/{link}x")

    def refuse(*_: object) -> int:
        raise OSError(f"550 {address} {code}")

    monkeypatch.setattr(locmem.EmailBackend, "send_messages", refuse)
    new_browser().post("/accounts/password/reset/", {"email": address})
    secrets = [PASSWORD, code, found[1], link, invitation, other.session.session_key or "-", address]
    # Below INFO nothing is written.
    form = next(h.formatter for h in logging.getLogger().handlers if isinstance(h.formatter, ProcessorFormatter))
    logged = "\n".join(form.format(record) for record in caplog.records if record.levelno >= logging.INFO)
    assert [secret for secret in secrets if secret in logged] == []
    assert "could not be sent" in logged
    assert "Forbidden" in logged, "the path of a refused form is logged, without its secret"


def test_cookies_are_secure_where_the_public_url_is() -> None:
    assert settings.SESSION_COOKIE_HTTPONLY
    assert settings.SESSION_COOKIE_SECURE is settings.PUBLIC_URL.startswith("https://")
    assert signed_up(unique_email()).cookies["sessionid"]["samesite"] == "Lax"
