"""Sign-up, verification of the address, and what was interrupted (W1, O5)."""

from accounts.models import Activity, Owner
from tests.accounts.browser import is_signed_in, new_browser, sign_up, verify
from tests.cast import unique_email

AUTHORIZE = "/authorize?client_id=abc&state=x%26y"


def test_a_new_owner_signs_up_verifies_and_goes_on_where_they_were_going() -> None:
    browser, address = new_browser(), unique_email()
    assert address not in browser.get("/accounts/signup/", {"next": AUTHORIZE}).content.decode()
    asked = sign_up(browser, address, then=AUTHORIZE)
    assert asked.headers["Location"] == "/accounts/confirm-email/"
    assert address in browser.get("/accounts/confirm-email/").content.decode()
    assert not is_signed_in(browser)
    done = verify(browser, address)
    assert done.headers["Location"] == AUTHORIZE
    assert is_signed_in(browser)
    owner = Owner.objects.get(email=address)
    assert owner.email_verified_at is not None
    assert Activity.objects.filter(owner=owner, tag="signed_in").count() == 1
