"""Words for people, from what programs say of themselves."""

from typing import Final

from django import template

register = template.Library()

# The first that is named counts: most browsers name others too.
BROWSERS: Final = {
    "Edg": "Edge",
    "OPR": "Opera",
    "Firefox": "Firefox",
    "HeadlessChrome": "Chrome",
    "Chrome": "Chrome",
    "Safari": "Safari",
}
SYSTEMS: Final = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS": "Mac",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}
OTHER_MAX_CHARS: Final = 60


@register.filter
def browser(user_agent: str) -> str:
    """Return ``Firefox on Windows`` for what a browser sends, or the beginning of what another program does."""
    name = next((known for sign, known in BROWSERS.items() if sign in user_agent), "")
    system = next((known for sign, known in SYSTEMS.items() if sign in user_agent), "")
    if name and system:
        return f"{name} on {system}"
    return user_agent[:OTHER_MAX_CHARS] or "An unknown browser"
