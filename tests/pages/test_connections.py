"""The pages that connect agents, and show and end what reaches a project (W2, A5, A6)."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.db import connection as database
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mcp_gateway.authorization import cleaning, tokens
from mcp_gateway.connections import pages, paste
from mcp_gateway.connections.authentication import InvalidCredential, authenticate
from mcp_gateway.connections.models import Connection
from mcp_gateway.connections.services import AlreadyMade, create_key, revoke_connection
from mcp_gateway.connections.templatetags.connections import ENDINGS, ending
from memford.core.limits import limits
from tests.accounts.browser import new_browser
from tests.cast import Person
from tests.live import LiveServer

HOSTILE = "<script>alert(1)</script>"
PART = {"HX-Request": "true"}


@pytest.fixture
def browser(owner: Person) -> Client:
    """The owner's browser, signed in."""
    return signed_in(owner)


def signed_in(person: Person) -> Client:
    """Return the browser of somebody who is signed in."""
    browser = new_browser()
    browser.force_login(person.owner, backend=settings.AUTHENTICATION_BACKENDS[0])
    return browser


def at(person: Person, page: str) -> str:
    """Return the address of one of the project's pages."""
    return f"/projects/{person.project.pk}/{page}"


def text_of(answer: Any) -> str:
    """Return what an answer prints."""
    return str(answer.content.decode())


def form_id_of(answer: Any) -> str:
    """Return the number of the form on the page."""
    found = re.search(r'name="form_id" value="([^"]+)"', text_of(answer))
    assert found
    return found.group(1)


def filled_in(answer: Any, **fields: str) -> dict[str, str]:
    """Return what the form on a page sends."""
    return {
        "form_id": form_id_of(answer),
        "name": "Nightly job",
        "access": "read_only",
        "ends": "30",
        "days": "",
        **fields,
    }


def secret_in(answer: Any) -> str | None:
    """Return the key that an answer shows."""
    found = re.search(r'<code id="paste-secret">(mfk_[\w-]{43})</code>', text_of(answer))
    return found.group(1) if found else None


def new_oauth(person: Person, name: str = "Claude Code", **more: Any) -> Connection:
    """Store an OAuth connection as consent does."""
    fields: dict[str, Any] = {
        "expires_at": timezone.now() + timedelta(days=180),
        "redirect_host": "127.0.0.1:53111",
        **more,
    }
    return Connection.objects.create(owner=person.owner, project=person.project, kind="oauth", name=name, **fields)


# Connecting


def test_each_client_has_something_to_paste(browser: Client, owner: Person) -> None:
    page = text_of(browser.get(at(owner, "connect")))
    url = f"{settings.PUBLIC_URL}/mcp"
    for line in [
        f"claude mcp add --transport http memford {url}\nclaude mcp login memford",
        f"codex mcp add memford --url {url}\ncodex mcp login memford",
        f"gemini mcp add -s user --transport http memford {url}",
        ".vscode/mcp.json",
        "~/.cursor/mcp.json",
        "code --add-mcp",
        "ChatGPT",
        "Claude Desktop",
        str(owner.project.pk),
        at(owner, "access") + "#new-key",
    ]:
        assert line in page


@pytest.mark.parametrize("url", ["https://memory.example.com/mcp", "http://[::1]:8000/mcp"])
def test_what_is_pasted_is_well_formed(url: str) -> None:
    lines = paste.lines_for(url)
    files = [json.loads(text) for text in lines.values() if text.startswith("{")]
    assert len(files) == 6
    assert all(url in json.dumps(each) for each in files)
    assert shlex.split(lines["claude_code"])[5:7] == ["memford", url]
    assert shlex.split(lines["codex"])[4:6] == ["--url", url]
    assert shlex.split(lines["gemini"])[-2:] == ["memford", url]
    assert json.loads(shlex.split(lines["vscode_line"])[-1]) == {"name": "memford", "type": "http", "url": url}
    assert shlex.split(paste.claude_code_with(url, "mfk_x"))[-2:] == ["--header", "Authorization: Bearer mfk_x"]


def test_the_bridge_is_told_of_plain_http_where_it_would_refuse() -> None:
    asked = ["https://a.example/mcp", "http://localhost:8000/mcp", "http://127.0.0.1/mcp", "http://[::1]:8000/mcp"]
    assert ["--allow-http" in paste.lines_for(url)["bridge"] for url in asked] == [False, False, False, True]


def test_the_call_by_hand_and_the_program_reach_the_project(owner: Person, server: LiveServer) -> None:
    agent = owner.new_agent()
    if shutil.which("curl"):
        line = paste.curl_with(server.mcp_url, agent.key)
        answer = subprocess.run(["sh", "-c", line], capture_output=True, check=True, timeout=30)
        assert str(owner.project.pk) in answer.stdout.decode()
    program = paste.lines_for(server.mcp_url)["python"]
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={"MEMFORD_API_KEY": agent.key, "PATH": ""},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert str(owner.project.pk) in run.stdout.decode()


def test_hosted_clients_are_told_that_they_cannot_reach_a_loopback_address(browser: Client, owner: Person) -> None:
    page = text_of(browser.get(at(owner, "connect")))
    assert page.count("this address is reached on your computer only") == 2
    assert "Add custom connector" not in page


def test_hosted_clients_are_told_how_at_a_public_address(
    browser: Client, owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "env", lambda: SimpleNamespace(is_loopback=False))
    page = text_of(browser.get(at(owner, "connect")))
    assert "reached on your computer only" not in page
    assert "Add custom connector" in page
    assert "Developer mode" in page


def shown_in(answer: Any) -> str:
    """Return what stands for the live line as it was shown."""
    found = re.search(r'name="shown" value="(\w+)"', text_of(answer))
    assert found
    return found.group(1)


def test_the_live_line_tells_of_the_first_call_once(browser: Client, owner: Person) -> None:
    page = browser.get(at(owner, "connect"))
    assert "Waiting for the first call…" in text_of(page)
    calls = at(owner, "connect/calls")
    shown = shown_in(page)
    assert browser.get(calls, {"shown": shown}, headers=PART).status_code == 204

    agent = owner.new_agent(name="Robin")
    waiting = browser.get(calls, {"shown": shown}, headers=PART)
    assert waiting.status_code == 200
    assert "waiting for its first call" in text_of(waiting)
    assert browser.get(calls, {"shown": shown_in(waiting)}, headers=PART).status_code == 204

    authenticate(agent.key)
    called = browser.get(calls, {"shown": shown_in(waiting)}, headers=PART)
    assert "<strong>Robin</strong> connected, called" in text_of(called)
    authenticate(agent.key)
    assert browser.get(calls, {"shown": shown_in(called)}, headers=PART).status_code == 204


def test_the_live_line_shows_the_latest_of_this_project_alone(
    browser: Client, owner: Person, other_owner: Person
) -> None:
    other_project = owner.new_project("Other")
    owner.new_agent(project=other_project, name="Elsewhere")
    other_owner.new_agent(name="Foreign")
    agents = [owner.new_agent(name=f"Agent {number}") for number in range(6)]
    new_oauth(owner, "Approved")
    ended = owner.new_agent(name="Ended")
    revoke_connection(owner_id=owner.id, connection_id=ended.connection.pk, actor=owner.hand)
    authenticate(agents[0].key)
    page = text_of(browser.get(at(owner, "connect")))
    names = re.findall(r"<strong>([^<]+)</strong> (connected|has a key|is approved)", page)
    assert names[:2] == [("Agent 0", "connected"), ("Approved", "is approved")]
    assert len(names) == 4
    assert not {"Elsewhere", "Foreign", "Ended"} & {name for name, _ in names}


# Access


def test_connections_and_keys_stand_in_one_list(browser: Client, owner: Person) -> None:
    key = owner.new_agent(name="A script", access="read_only").connection
    oauth = new_oauth(owner)
    over = owner.new_agent(name="Over").connection
    revoke_connection(owner_id=owner.id, connection_id=over.pk, actor=owner.hand)
    expired = owner.new_agent(name="Too late").connection
    Connection.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(hours=1))
    page = text_of(browser.get(at(owner, "access")))
    order = [page.index(f'id="access-{each.pk}"') for each in (oauth, key, expired, over)]
    folded = page.index("<summary>2 ended</summary>")
    assert order[0] < order[1] < folded < min(order[2:]), "live ones first, ended ones folded"
    assert page.index("You revoked it.") > folded
    assert page.index("Its time was up.") > folded
    assert "127.0.0.1:53111" in page
    assert "nobody verified it" in page
    assert f"{key.key_prefix}…" in page
    assert page.count(">Revoke</summary>") == 2


def test_nothing_yet_says_what_will_stand_here(browser: Client, owner: Person) -> None:
    assert "Nothing reaches this project yet" in text_of(browser.get(at(owner, "access")))


def test_every_reason_to_end_has_words() -> None:
    used = {tokens.CODE_REPLAYED, tokens.TOKEN_REUSED, tokens.BY_CLIENT, cleaning.NEVER_CONNECTED, cleaning.UNUSED}
    for path in Path(pages.__file__).parents[1].rglob("*.py"):
        used |= set(re.findall(r'\breason(?:: str)? ?= ?"(\w+)"', path.read_text()))
    assert used == set(ENDINGS)
    now = timezone.now()
    assert ending(Connection(revoked_at=now, revoked_reason="told by nobody")) == "It was revoked"
    assert ending(Connection(expires_at=now + timedelta(days=1))) == ""


def test_a_key_is_shown_once(browser: Client, owner: Person) -> None:
    page = browser.get(at(owner, "access"))
    answer = browser.post(at(owner, "access/keys"), filled_in(page))
    assert answer.status_code == 200
    secret = secret_in(answer)
    assert secret
    assert "no-store" in answer["Cache-Control"]
    said = text_of(answer)
    assert f'--header "Authorization: Bearer {secret}"'.replace('"', "&quot;") in said
    assert "curl -sS" in said
    assert "never shown again" in said

    caller = authenticate(secret)
    assert caller.principal.project_id == owner.project.pk
    assert caller.principal.scopes == {"memory:read"}
    made = Connection.objects.get(pk=caller.principal.connection_id)
    assert made.name == "Nightly job"
    assert made.expires_at is not None
    assert abs(made.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)

    again = browser.get(at(owner, "access"))
    assert secret not in text_of(again)
    assert secret not in json.dumps(dict(browser.session))
    assert all(secret not in cookie.value for cookie in browser.cookies.values())


def test_the_form_sent_again_makes_no_second_key(browser: Client, owner: Person) -> None:
    fields = filled_in(browser.get(at(owner, "access")))
    first = browser.post(at(owner, "access/keys"), fields)
    again = browser.post(at(owner, "access/keys"), fields)
    assert (first.status_code, again.status_code) == (200, 409)
    assert secret_in(again) is None
    assert "That key was made already" in text_of(again)
    assert 'value="Nightly job"' in text_of(again), "what was typed is kept"
    made = Connection.objects.get(project=owner.project)
    revoke_connection(owner_id=owner.id, connection_id=made.pk, actor=owner.hand)
    assert browser.post(at(owner, "access/keys"), fields).status_code == 409, "not even when it has ended"
    another = browser.post(at(owner, "access/keys"), filled_in(again))
    assert secret_in(another), "sent once more on purpose, it makes another"
    assert Connection.objects.filter(project=owner.project).count() == 2


def test_the_forms_address_leads_back_to_the_page(browser: Client, owner: Person) -> None:
    answer = browser.get(at(owner, "access/keys"))
    assert (answer.status_code, answer["Location"]) == (302, at(owner, "access"))
    assert browser.post(at(owner, "access")).status_code == 405


def test_a_form_without_its_number_makes_nothing(browser: Client, owner: Person) -> None:
    fields = filled_in(browser.get(at(owner, "access")))
    for form_id in ("", "x", "\x00"):
        answer = browser.post(at(owner, "access/keys"), {**fields, "form_id": form_id})
        assert answer.status_code == 400
        assert 'value="Nightly job"' in text_of(answer)
    assert not Connection.objects.filter(project=owner.project).exists()


def test_two_presses_at_once_make_one_key(owner: Person) -> None:
    fields = filled_in(signed_in(owner).get(at(owner, "access")))
    browsers = [signed_in(owner) for _ in range(6)]
    start = threading.Barrier(len(browsers))

    def press(browser: Client) -> Any:
        start.wait()
        try:
            return browser.post(at(owner, "access/keys"), fields)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(browsers)) as pool:
        answers = list(pool.map(press, browsers))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 5
    assert sum(secret_in(answer) is not None for answer in answers) == 1
    assert Connection.objects.filter(project=owner.project).count() == 1


def test_one_form_is_another_one_in_another_project(owner: Person, other_owner: Person) -> None:
    once = uuid.uuid4()

    def make(person: Person, project_id: uuid.UUID) -> None:
        create_key(
            owner_id=person.id, project_id=project_id, name="x", access="read_only", actor=person.hand, once=once
        )

    make(owner, owner.project.pk)
    make(owner, owner.new_project("Second").pk)
    make(other_owner, other_owner.project.pk)
    with pytest.raises(AlreadyMade):
        make(owner, owner.project.pk)


@pytest.mark.parametrize(
    ("ends", "days", "expected"), [("never", "", None), ("365", "", 365), ("other", "7", 7), ("other", "3650", 3650)]
)
def test_a_key_ends_when_it_was_told_to(
    browser: Client, owner: Person, ends: str, days: str, expected: int | None
) -> None:
    browser.post(at(owner, "access/keys"), filled_in(browser.get(at(owner, "access")), ends=ends, days=days))
    made = Connection.objects.get(project=owner.project)
    if expected is None:
        assert made.expires_at is None
    else:
        assert made.expires_at is not None
        assert round((made.expires_at - timezone.now()) / timedelta(days=1)) == expected


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "  "}, "This must not be empty or blank."),
        ({"name": "x" * 121}, "This has 121 code points; at most 120 are accepted."),
        ({"name": "a\x00b"}, "This contains U+0000"),
        ({"access": "everything"}, "This must be one of read_write, read_only."),
        ({"ends": "other", "days": "0"}, "This must be between 1 and 3650."),
        ({"ends": "other", "days": "\uff13\uff10"}, "This must be between 1 and 3650."),
        ({"ends": "other", "days": ""}, "This must be between 1 and 3650."),
        ({"ends": "other", "days": "9" * 40}, "This must be between 1 and 3650."),
        ({"ends": "soon"}, "This must be between 1 and 3650."),
    ],
)
def test_what_cannot_be_stands_beside_its_field(
    browser: Client, owner: Person, fields: dict[str, str], said: str
) -> None:
    sent = filled_in(browser.get(at(owner, "access")), **fields)
    for headers in ({}, PART):
        answer = browser.post(at(owner, "access/keys"), sent, headers=headers)
        assert answer.status_code == 400
        assert said in text_of(answer)
        assert form_id_of(answer) == sent["form_id"], "nothing was made, so it is the same asking"
        if sent["name"] == "Nightly job":
            assert 'value="Nightly job"' in text_of(answer)
    assert not Connection.objects.filter(project=owner.project).exists()
    assert secret_in(browser.post(at(owner, "access/keys"), filled_in(answer)))


def test_the_number_of_live_keys_is_bounded(browser: Client, owner: Person) -> None:
    most = limits().live_keys_per_project_max
    agents = [owner.new_agent() for _ in range(most)]
    sent = filled_in(browser.get(at(owner, "access")))
    refused = browser.post(at(owner, "access/keys"), sent)
    assert refused.status_code == 409
    assert f"at most {most} live keys" in text_of(refused)
    assert 'value="Nightly job"' in text_of(refused)
    revoke_connection(owner_id=owner.id, connection_id=agents[0].connection.pk, actor=owner.hand)
    assert secret_in(browser.post(at(owner, "access/keys"), sent)), "the same form does it then"


def test_with_htmx_the_key_comes_in_place(browser: Client, owner: Person) -> None:
    answer = browser.post(at(owner, "access/keys"), filled_in(browser.get(at(owner, "access"))), headers=PART)
    assert text_of(answer).lstrip().startswith('<div id="access">')
    assert secret_in(answer)
    assert "no-store" in answer["Cache-Control"]
    assert "data-once" in text_of(answer)


def test_revoking_ends_the_next_call(browser: Client, owner: Person) -> None:
    agent, second = owner.new_agent(name="Robin"), owner.new_agent(name="Wren")
    authenticate(agent.key)
    answer = browser.post(at(owner, f"access/{agent.connection.pk}/revoke"))
    assert (answer.status_code, answer["Location"]) == (302, at(owner, "access"))
    page = text_of(browser.get(at(owner, "access")))
    assert "“Robin” was revoked. Its next call is refused." in page
    with pytest.raises(InvalidCredential):
        authenticate(agent.key)
    row = browser.post(at(owner, f"access/{second.connection.pk}/revoke"), headers=PART)
    assert text_of(row).startswith(f'<li id="access-{second.connection.pk}" class="is-ended"')
    assert "You revoked it." in text_of(row)
    assert browser.post(at(owner, f"access/{second.connection.pk}/revoke"), headers=PART).status_code == 200


def test_what_is_anothers_is_not_there(browser: Client, owner: Person, other_owner: Person) -> None:
    theirs = other_owner.new_agent().connection
    beside = owner.new_agent(project=owner.new_project("Second")).connection
    for page in ("connect", "connect/calls", "access"):
        assert browser.get(at(owner, page)).status_code == 200
        assert browser.get(at(other_owner, page)).status_code == 404
        assert browser.get(f"/projects/{uuid.uuid4()}/{page}").status_code == 404
    fields = filled_in(browser.get(at(owner, "access")))
    assert browser.post(at(other_owner, "access/keys"), fields).status_code == 404
    for address in (
        at(other_owner, f"access/{theirs.pk}/revoke"),
        at(owner, f"access/{theirs.pk}/revoke"),
        at(owner, f"access/{beside.pk}/revoke"),
        at(owner, f"access/{uuid.uuid4()}/revoke"),
    ):
        assert browser.post(address).status_code == 404
    assert browser.get(at(owner, "access"), {"before": str(theirs.pk)}).status_code == 404
    assert browser.get(at(owner, "access"), {"before": "x\x00"}).status_code == 200
    assert not Connection.objects.filter(pk__in=[theirs.pk, beside.pk]).exclude(revoked_at=None).exists()


def test_strangers_sign_in_first(owner: Person) -> None:
    stranger = new_browser()
    agent = owner.new_agent()
    for page in ("connect", "connect/calls", "access"):
        answer = stranger.get(at(owner, page))
        assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/accounts/login/")
        assert stranger.get(at(owner, page), headers=PART).status_code == 401
    assert stranger.post(at(owner, "access/keys"), {"name": "x", "form_id": str(uuid.uuid4())}).status_code == 401
    assert stranger.post(at(owner, f"access/{agent.connection.pk}/revoke")).status_code == 401
    authenticate(agent.key)
    assert stranger.get(at(owner, f"access/{agent.connection.pk}/revoke")).status_code == 405


def test_a_form_sent_while_signed_out_is_sent_again_after_signing_in(browser: Client, owner: Person) -> None:
    fields = filled_in(browser.get(at(owner, "access")))
    shown = new_browser().post(at(owner, "access/keys"), fields)
    assert shown.status_code == 401
    assert f'action="{at(owner, "access/keys")}"' in text_of(shown)
    again = dict(re.findall(r'name="(\w+)" value="([^"]*)"', text_of(shown)))
    assert {name: again[name] for name in fields} == fields
    assert secret_in(browser.post(at(owner, "access/keys"), again))


def test_names_are_never_markup(browser: Client, owner: Person) -> None:
    owner.new_agent(name=HOSTILE)
    new_oauth(owner, HOSTILE, redirect_host=HOSTILE)
    ended = owner.new_agent(name=HOSTILE).connection
    answers = [
        browser.get(at(owner, "connect")),
        browser.post(at(owner, f"access/{ended.pk}/revoke"), headers=PART),
        browser.get(at(owner, "access")),
        browser.post(at(owner, "access/keys"), filled_in(browser.get(at(owner, "access")), name=HOSTILE, ends="x")),
        browser.post(at(owner, "access/keys"), filled_in(browser.get(at(owner, "access")), name=HOSTILE)),
    ]
    for answer in answers:
        assert HOSTILE not in text_of(answer)
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text_of(answer)


def count_of(browser: Client, address: str) -> int:
    """Return how many statements a page takes."""
    with CaptureQueriesContext(database) as statements:
        assert browser.get(address).status_code == 200
    return len(statements)


def test_statements_do_not_grow_with_what_is_listed(browser: Client, owner: Person) -> None:
    addresses = [at(owner, page) for page in ("connect", "connect/calls", "access")]
    few = [count_of(browser, address) for address in addresses]
    assert few[0] <= 6
    assert few[1] <= 5
    assert few[2] <= 7
    for number in range(20):
        owner.new_agent(name=f"{number}")
        ended = new_oauth(owner, f"ended {number}").pk
        revoke_connection(owner_id=owner.id, connection_id=ended, actor=owner.hand)
    assert [count_of(browser, address) for address in addresses] == few


def test_long_lists_are_bounded_and_every_live_one_is_reached(browser: Client, owner: Person) -> None:
    def many(count: int, **more: Any) -> None:
        Connection.objects.bulk_create(
            Connection(owner=owner.owner, project=owner.project, kind="oauth", name=f"n{number}", **more)
            for number in range(count)
        )

    many(pages.LIVE_AT_ONCE + 5, expires_at=timezone.now() + timedelta(days=1))
    many(pages.ENDED_SHOWN + 5, revoked_at=timezone.now(), revoked_reason="owner")
    first = text_of(browser.get(at(owner, "access")))
    assert f"The last {pages.ENDED_SHOWN} that ended" in first
    shown = set(re.findall(r'id="access-([^"]+)"', first))
    assert len(shown) == pages.LIVE_AT_ONCE + pages.ENDED_SHOWN
    older = re.search(r'href="[^"]+(\?before=[^"]+)"', first)
    assert older
    second = text_of(browser.get(at(owner, "access") + older.group(1)))
    live = {
        str(pk) for pk in Connection.objects.filter(project=owner.project, revoked_at=None).values_list("pk", flat=True)
    }
    assert live <= shown | set(re.findall(r'id="access-([^"]+)"', second))
    assert "?before=" not in second
