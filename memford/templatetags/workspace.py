"""How the workspace prints times and texts; whatever is printed is escaped (W4)."""

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Final

from django import template
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.utils.formats import date_format
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localdate, localtime

from memford.core.differences import Piece, differences

register = template.Library()

FOLDED_LINES: Final = 12
FOLDED_CHARS: Final = 1_000

_WORD: Final = re.compile(r"\w+")


@register.simple_tag
def when(time: datetime | None) -> SafeString:
    """Print a time as people say it, with the exact one behind it."""
    if time is None:
        return SafeString("never")
    exact = localtime(time).strftime("%Y-%m-%d %H:%M:%S %Z")
    said = naturaltime(time)
    return format_html('<time datetime="{}" title="{}" data-ago>{}</time>', time.isoformat(), exact, said)


@register.filter
def day_name(day: date) -> str:
    """Print a day as a heading."""
    today = localdate()
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    return date_format(day, "l, j F Y" if day.year != today.year else "l, j F")


@register.filter
def marked(text: str, beginnings: Iterable[str]) -> SafeString:
    """Print a text with those words marked that begin as one of ``beginnings``, which are in lower case."""
    wanted = tuple(beginnings)
    if not wanted:
        return conditional_escape(text)
    pieces: list[str] = []
    end = 0
    for word in _WORD.finditer(text):
        if word.group().lower().startswith(wanted):
            pieces += [conditional_escape(text[end : word.start()]), format_html("<mark>{}</mark>", word.group())]
            end = word.end()
    pieces.append(conditional_escape(text[end:]))
    return format_html_join("", "{}", ((mark_safe(piece),) for piece in pieces))  # noqa: S308  # each is escaped above


@register.filter
def is_long(text: str) -> bool:
    """Whether a text is folded after a few lines."""
    return len(text) > FOLDED_CHARS or text.count("\n") >= FOLDED_LINES


@register.filter
def differences_to(older: str, newer: str) -> list[Piece]:
    """Return what leads from one text to another, word by word."""
    return differences(older, newer)
