"""How a login session is named."""

import pytest

from accounts.templatetags.accounts_text import browser


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36",
            "Chrome on Linux",
        ),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Safari/604.1",
            "Safari on iPhone",
        ),
        ("Lantern 1", "Lantern 1"),
        ("", "An unknown browser"),
        ("x" * 200, "x" * 60),
    ],
)
def test_a_browser_is_named_as_people_name_it(user_agent: str, name: str) -> None:
    assert browser(user_agent) == name
