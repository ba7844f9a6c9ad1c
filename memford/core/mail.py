"""How mail leaves: by SMTP, into a folder, or onto the console.

The last two write a mail as a person reads it, decoded, so that a code or a link can be copied.
"""

import os
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

SMTP_TIMEOUT_SECONDS: Final = 10
RULE: Final = "-" * 72
_HERE: Final = "memford.core.mail"


def mailer_of(url: str) -> dict[str, Any]:
    """Read ``MEMFORD_MAIL_URL`` into the form of Django's ``MAILERS``.

    ``smtp://`` asks the server for TLS, unless ``?tls=off`` stands behind it; ``smtps://`` begins with it.

    Raises:
        ValueError: Mail cannot leave by this address; the message holds nothing of it.
    """
    parts = urlsplit(url)
    if parts.scheme == "console":
        return {"BACKEND": f"{_HERE}.ConsoleBackend"}
    if parts.scheme == "file" and parts.path and not parts.netloc:
        return {"BACKEND": f"{_HERE}.FolderBackend", "OPTIONS": {"folder": unquote(parts.path)}}
    if parts.scheme in {"smtp", "smtps"} and parts.hostname:
        return {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": _smtp(url)}
    raise ValueError("give smtp://user:password@host:587, smtps://…, file:///folder or console://")


def _smtp(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    implicit = parts.scheme == "smtps"
    plain = parse_qs(parts.query).get("tls") == ["off"]
    return {
        "host": parts.hostname,
        "port": parts.port or (465 if implicit else 587),
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "use_ssl": implicit,
        "use_tls": not implicit and not plain,
        "timeout": SMTP_TIMEOUT_SECONDS,
    }


def as_read(message: EmailMessage) -> str:
    """Return a mail as a person reads it: to whom, about what, and the text."""
    head = f"To: {', '.join(message.to)}\nFrom: {message.from_email}\nSubject: {message.subject}"
    return f"{head}\n\n{message.body.strip()}\n"


class ConsoleBackend(BaseEmailBackend):
    """Writes each mail to standard error, in one piece."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Write the mails and return how many."""
        for message in email_messages:
            sys.stderr.write(f"{RULE}\n{as_read(message)}{RULE}\n")
        sys.stderr.flush()
        return len(email_messages)


class FolderBackend(BaseEmailBackend):
    """Writes each mail to a file of its own in a folder, readable by its owner alone; names sort by time."""

    def __init__(self, folder: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._folder = Path(folder)

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Write the mails, each whole or not at all, and return how many."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for message in email_messages:
            self._write(as_read(message))
        return len(email_messages)

    def _write(self, text: str) -> None:
        name = f"{time.time_ns():020d}-{secrets.token_hex(4)}.txt"
        unfinished = self._folder / f".{name}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        unfinished.replace(self._folder / name)
