"""How mail leaves (W1)."""

import stat
from pathlib import Path

import pytest
from django.core.mail import EmailMessage
from pydantic import ValidationError

from memford.core.mail import ConsoleBackend, FolderBackend, mailer_of
from memford.embedded.mailbox import KEPT_MAILS_MAX, Mailbox
from memford.env import Env
from tests.memford.test_environment import GOOD

MAIL = EmailMessage("Your code: AB12", "The code is\n\nAB12 ü\n", "Memford <m@example.com>", ["you@example.com"])


def test_smtp_is_read_from_its_url() -> None:
    options = mailer_of("smtp://me%40x:p%2Fw@mail.example.com:2525")["OPTIONS"]
    assert (options["host"], options["port"]) == ("mail.example.com", 2525)
    assert (options["username"], options["password"]) == ("me@x", "p/w")
    assert (options["use_tls"], options["use_ssl"]) == (True, False)
    implicit = mailer_of("smtps://mail.example.com")["OPTIONS"]
    assert (implicit["port"], implicit["use_tls"], implicit["use_ssl"]) == (465, False, True)
    assert mailer_of("smtp://localhost:25?tls=off")["OPTIONS"]["use_tls"] is False


@pytest.mark.parametrize(
    "url", ["", "mail.example.com", "http://x", "smtp://", "file://host/x", "smtp://u:hunter2@h:x"]
)
def test_anything_else_stops_the_start_and_is_not_printed(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Env(**GOOD, mail_url=url)  # type: ignore[arg-type]
    assert "hunter2" not in str(refused.value)


def test_the_sender_is_at_the_public_host_unless_set() -> None:
    there = Env(**GOOD, public_url="https://memford.example.com")  # type: ignore[arg-type]
    assert there.sender == "Memford <memford@memford.example.com>"
    assert Env(**GOOD, mail_from="a@b.example").sender == "a@b.example"  # type: ignore[arg-type]


def test_a_folder_takes_each_mail_as_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "mail"
    assert FolderBackend(str(folder), alias="default").send_messages([MAIL, MAIL]) == 2
    first, _ = sorted(folder.iterdir())
    assert first.read_text().startswith("To: you@example.com\n")
    assert "\nAB12 ü\n" in first.read_text()
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_console_shows_it_decoded(capsys: pytest.CaptureFixture[str]) -> None:
    ConsoleBackend(alias="default").send_messages([MAIL])
    assert "\nAB12 ü\n" in capsys.readouterr().err


def test_a_mailbox_shows_what_is_new_once_and_without_commands_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mail"
    backend = FolderBackend(str(folder), alias="default")
    backend.send_messages([EmailMessage("Old", "old", "a@b.example", ["c@d.example"])])
    mailbox = Mailbox(folder)
    mailbox.show_new()
    assert capsys.readouterr().err == ""
    backend.send_messages([EmailMessage("New", "a\x1b[2Jb", "a@b.example", ["c@d.example"])])
    mailbox.show_new()
    shown = capsys.readouterr().err
    assert "Subject: New" in shown
    assert "\x1b" not in shown
    mailbox.show_new()
    assert capsys.readouterr().err == ""
    backend.send_messages([MAIL] * (KEPT_MAILS_MAX + 5))
    mailbox.show_new()
    assert len(list(folder.iterdir())) == KEPT_MAILS_MAX
