"""What is put before an owner, and where the browser goes with the answer (O3-O6, W4)."""

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Activity
from mcp_gateway.authorization.models import Application, Grant
from mcp_gateway.connections.models import Connection
from memford.core.secrets import digest
from projects.models import Project
from tests.cast import Person
from tests.live import LiveServer
from tests.oauth import Browser, OAuthClient, query_of


@pytest.fixture
def browser(server: LiveServer, owner: Person) -> Browser:
    """The owner's browser, signed in."""
    return Browser(server.url, owner.owner)


def test_an_owner_who_is_not_signed_in_signs_in_first_and_comes_back(client: OAuthClient, server: LiveServer) -> None:
    path = client.ask()
    answer = Browser(server.url).get(path)
    assert answer.status_code == 302
    location = answer.headers["location"]
    assert location.startswith("/accounts/login/?next=/authorize")
    assert query_of(location)["next"] == path


def test_the_page_says_who_asks_for_what_and_where_it_leads(
    client: OAuthClient, browser: Browser, owner: Person
) -> None:
    other = owner.new_project("Second <script>")
    page = browser.get(client.ask())
    assert page.status_code == 200
    for words in ("Test client", "Nobody has verified", "127.0.0.1:49152", owner.owner.email, "Lighthouse"):
        assert words in page.text
    assert "Second &lt;script&gt;" in page.text
    assert 'value="read_only"' in page.text
    assert 'value="read_write" checked' in page.text
    # Of several projects none is preselected.
    for project in (owner.project, other):
        assert f'value="{project.pk}"' in page.text
        assert f'value="{project.pk}" checked' not in page.text
    assert "no-store" in page.headers["cache-control"]
    policy = page.headers["content-security-policy"]
    assert "form-action 'self' http://127.0.0.1:49152;" in f"{policy};"
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy


def test_an_only_project_is_preselected(client: OAuthClient, browser: Browser, owner: Person) -> None:
    assert f'value="{owner.project.pk}" checked' in browser.get(client.ask()).text


def test_approving_makes_a_connection_and_returns_a_code(client: OAuthClient, browser: Browser, owner: Person) -> None:
    answer = browser.decide(client.ask(), project=str(owner.project.pk), access="read_only", decision="approve")
    assert answer.status_code == 303
    assert "no-store" in answer.headers["cache-control"]
    location = answer.headers["location"]
    assert location.startswith(f"{client.redirect_uri}?")
    query = query_of(location)
    assert set(query) == {"code", "state", "iss"}
    assert query["state"] == "a state & more"
    assert query["iss"] == browser.url
    connection = client.connection
    assert (connection.kind, connection.name, connection.access) == ("oauth", "Test client", "read_only")
    assert (connection.owner_id, connection.project_id) == (owner.id, owner.project.pk)
    assert connection.redirect_host == "127.0.0.1:49152"
    assert connection.expires_at is not None
    life = connection.expires_at - connection.created_at
    assert timedelta(days=180) - timedelta(seconds=5) < life <= timedelta(days=180)
    grant = Grant.objects.get(connection=connection)
    assert grant.code == digest(query["code"])
    assert not Grant.objects.filter(code=query["code"]).exists()
    line = Activity.objects.get(owner_id=owner.id, tag="connection_approved")
    assert line.object_id == connection.pk
    assert query["code"] not in str(line.detail)


def test_denying_is_told_and_makes_nothing(client: OAuthClient, browser: Browser) -> None:
    answer = browser.decide(client.ask(), decision="deny")
    assert answer.status_code == 303
    query = query_of(answer.headers["location"])
    assert (query["error"], query["state"], query["iss"]) == ("access_denied", "a state & more", browser.url)
    assert not Connection.objects.filter(client__client_id=client.id).exists()


def test_consent_always_asks(client: OAuthClient, browser: Browser, owner: Person) -> None:
    client.connect(owner)
    assert browser.get(client.ask()).status_code == 200
    client.connect(owner)
    assert Connection.objects.filter(client__client_id=client.id).count() == 2


def test_a_project_can_be_made_on_the_way(client: OAuthClient, browser: Browser, owner: Person) -> None:
    answer = browser.decide(
        client.ask(), project="new", project_name="Made at consent", access="read_write", decision="approve"
    )
    assert answer.status_code == 303
    assert client.connection.project.name == "Made at consent"
    assert client.connection.project.owner_id == owner.id


@pytest.mark.parametrize(
    "fields",
    [
        {"access": "read_write", "decision": "approve"},
        {"project": "{foreign}", "access": "read_write", "decision": "approve"},
        {"project": "{deleted}", "access": "read_write", "decision": "approve"},
        {"project": "\0", "access": "read_write", "decision": "approve"},
        {"project": "{own}", "access": "everything", "decision": "approve"},
        {"project": "{own}", "decision": "approve"},
        {"project": "{own}", "access": "read_write", "decision": "perhaps"},
        {"project": "{own}", "access": "read_write"},
        {"project": "new", "access": "read_write", "decision": "approve"},
        {"project": "new", "project_name": " ", "access": "read_write", "decision": "approve"},
        {"project": "new", "project_name": "x" * 121, "access": "read_write", "decision": "approve"},
        {"project": "new", "project_name": "\0", "access": "read_write", "decision": "approve"},
    ],
)
def test_a_decision_that_cannot_stand_shows_the_page_again(
    client: OAuthClient, browser: Browser, owner: Person, other_owner: Person, fields: dict[str, str]
) -> None:
    deleted = owner.new_project("Deleted")
    Project.objects.filter(pk=deleted.pk).update(deleted_at=timezone.now())
    ids = {"foreign": other_owner.project.pk, "deleted": deleted.pk, "own": owner.project.pk}
    answer = browser.decide(client.ask(), **{name: value.format(**ids) for name, value in fields.items()})
    assert answer.status_code == 400
    assert 'class="error"' in answer.text
    assert "form-action 'self' http://127.0.0.1:49152" in answer.headers["content-security-policy"]
    assert not Connection.objects.filter(client__client_id=client.id).exists()


def test_a_form_without_its_token_is_refused(client: OAuthClient, browser: Browser, owner: Person) -> None:
    fields = {"project": str(owner.project.pk), "access": "read_write", "decision": "approve"}
    for headers in ({}, {"Origin": "https://evil.example"}):
        assert browser.send("POST", client.ask(), data=fields, headers=headers).status_code == 403
    assert not Connection.objects.filter(client__client_id=client.id).exists()


def test_a_forms_body_cannot_change_what_was_asked(
    client: OAuthClient, browser: Browser, owner: Person, server: LiveServer
) -> None:
    other = OAuthClient(server.url, "https://evil.example/cb")
    answer = browser.decide(
        client.ask(),
        project=str(owner.project.pk),
        access="read_only",
        decision="approve",
        client_id=other.id,
        redirect_uri=other.redirect_uri,
    )
    assert answer.headers["location"].startswith(client.redirect_uri)
    assert client.connection.owner_id == owner.id


class TestScopes:
    """None or only unknown ones mean both, unknown ones are ignored (O6)."""

    @pytest.mark.parametrize(
        ("scope", "granted"),
        [
            (None, "memory:read memory:write"),
            ("", "memory:read memory:write"),
            ("openid offline_access", "memory:read memory:write"),
            ("memory:write", "memory:read memory:write"),
            ("offline_access memory:read", "memory:read"),
            ("memory:read memory:write openid", "memory:read memory:write"),
        ],
    )
    def test_what_is_asked_is_what_can_be_granted(
        self, client: OAuthClient, owner: Person, scope: str | None, granted: str
    ) -> None:
        access = "read_write" if "write" in granted else "read_only"
        tokens = client.connect(owner, scope=scope, access=access)
        assert tokens["scope"] == granted
        assert tokens["refresh_token"].startswith("mfr_")
        assert client.connection.access == access

    def test_more_than_was_asked_cannot_be_approved(self, client: OAuthClient, browser: Browser, owner: Person) -> None:
        path = client.ask(scope="memory:read")
        assert 'value="read_write"' not in browser.get(path).text
        answer = browser.decide(path, project=str(owner.project.pk), access="read_write", decision="approve")
        assert answer.status_code == 400


class TestRefusals:
    """A person gets a page where nobody may be sent back, the client an error where it may (O3, O4)."""

    @pytest.mark.parametrize(
        "changes",
        [
            {"client_id": None},
            {"client_id": "unknown"},
            {"client_id": ""},
            {"client_id": "\0"},
            {"client_id": "é" * 300},
            {"redirect_uri": "https://evil.example/cb"},
            {"redirect_uri": "http://127.0.0.1:49152/callback/"},
            {"redirect_uri": "http://localhost:49152/callback"},
            {"redirect_uri": "javascript:alert(1)"},
            {"redirect_uri": ""},
            {"redirect_uri": "\0"},
        ],
    )
    def test_nobody_is_sent_to_an_address_that_is_not_registered(
        self, client: OAuthClient, browser: Browser, changes: dict[str, str | None]
    ) -> None:
        answer = browser.get(client.ask(**changes))
        assert answer.status_code == 400
        assert answer.headers["content-type"].startswith("text/html")
        assert "location" not in answer.headers
        assert "connect again" in answer.text

    def test_a_forgotten_client_is_told_how_to_go_on(self, client: OAuthClient, browser: Browser) -> None:
        path = client.ask()
        Application.objects.filter(client_id=client.id).delete()
        answer = browser.get(path)
        assert answer.status_code == 400
        assert "not known here" in answer.text

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"response_type": "code token"}, "unsupported_response_type"),
            ({"response_type": None}, "invalid_request"),
            ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
            ({"code_challenge_method": "plain"}, "invalid_request"),
            ({"code_challenge_method": None}, "invalid_request"),
            ({"code_challenge_method": "S512"}, "invalid_request"),
            ({"code_challenge": "short"}, "invalid_request"),
            ({"code_challenge": "é" * 43}, "invalid_request"),
            ({"response_mode": "fragment"}, "invalid_request"),
            ({"response_mode": "form_post"}, "invalid_request"),
            ({"resource": "https://other.example/mcp"}, "invalid_target"),
            ({"resource": "\0<é>"}, "invalid_target"),
        ],
    )
    def test_the_client_hears_what_is_wrong_with_its_state_and_the_issuer(
        self, client: OAuthClient, browser: Browser, changes: dict[str, str | None], error: str
    ) -> None:
        answer = browser.get(client.ask(**changes))
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith(f"{client.redirect_uri}?")
        query = query_of(answer.headers["location"])
        assert (query["error"], query["state"], query["iss"]) == (error, "a state & more", browser.url)
        assert query.get("error_description", "-").isascii()

    @pytest.mark.parametrize("changes", [{"response_type": "x"}, {"resource": "https://x.example"}, {"scope": None}])
    def test_a_link_here_leads_nobody_to_a_site_that_was_never_approved(
        self, server: LiveServer, owner: Person, changes: dict[str, str | None]
    ) -> None:
        client = OAuthClient(server.url, "https://evil.example/phish")
        wrong = {"code_challenge_method": None, **changes}
        for browser in (Browser(server.url), Browser(server.url, owner.owner)):
            answer = browser.get(client.ask(**wrong))
            assert answer.status_code == 400
            assert "location" not in answer.headers
            assert "evil.example" in answer.text
        client.code(owner)
        answer = Browser(server.url).get(client.ask(**wrong))
        assert answer.status_code == 303, "an owner has approved this client before"
        assert "error=" in answer.headers["location"]

    def test_an_error_is_never_in_the_fragment(self, client: OAuthClient, browser: Browser) -> None:
        answer = browser.get(client.ask(response_type="x", response_mode="fragment"))
        assert "#" not in answer.headers["location"]
        assert query_of(answer.headers["location"])["error"] == "unsupported_response_type"

    @pytest.mark.parametrize("name", ["client_id", "redirect_uri", "state", "scope", "response_type"])
    def test_a_parameter_sent_twice_is_refused(self, client: OAuthClient, browser: Browser, name: str) -> None:
        answer = browser.get(f"{client.ask(scope='memory:read')}&{name}=again")
        assert answer.status_code in {303, 400}
        assert "code=" not in answer.headers.get("location", "")
        assert answer.status_code == 400 or answer.headers["location"].startswith(client.redirect_uri)

    @pytest.mark.parametrize(
        "query", ["%zz", "client_id=%ff%fe", "a=%00", "=&&==", "x" * 7_000, "client_id=\\", "&a=1" * 1_200]
    )
    def test_no_query_is_our_failure(self, browser: Browser, query: str) -> None:
        assert browser.get(f"/authorize?{query}").status_code == 400

    @settings(max_examples=60, deadline=None)
    @given(
        changes=st.dictionaries(
            st.sampled_from(["state", "scope", "resource", "code_challenge", "redirect_uri", "nonce", "prompt"]),
            st.text(max_size=40),
        )
    )
    def test_no_parameters_are_our_failure(self, server: LiveServer, changes: dict[str, str]) -> None:
        client = _one_client(server)
        answer = Browser(server.url).get(client.ask(**changes))
        assert answer.status_code in {302, 303, 400}
        if answer.status_code == 303:
            assert answer.headers["location"].startswith(client.redirect_uri)


_clients: dict[str, OAuthClient] = {}


def _one_client(server: LiveServer) -> OAuthClient:
    """Register once for many examples."""
    if server.url not in _clients:
        _clients[server.url] = OAuthClient(server.url)
    return _clients[server.url]


class TestAudience:
    """The advertised resource and its bare origin mean the one audience (O4)."""

    @pytest.mark.parametrize("form", ["{url}/mcp", "{url}/mcp/", "{url}", "{url}/", "{upper}/mcp", None])
    def test_every_form_of_it_is_taken(
        self, client: OAuthClient, owner: Person, server: LiveServer, form: str | None
    ) -> None:
        resource = None if form is None else form.format(url=server.url, upper=server.url.upper())
        tokens = client.connect(owner, resource=resource)
        assert client.works(tokens["access_token"])

    @pytest.mark.parametrize("form", ["{url}/mcp//", "{url}/other", "{url}/mcp?x=1", "{url}/mcp#x", "{url}x/mcp", ""])
    def test_anything_else_is_not(self, client: OAuthClient, browser: Browser, form: str) -> None:
        answer = browser.get(client.ask(resource=form.format(url=browser.url)))
        assert query_of(answer.headers["location"])["error"] == "invalid_target"

    def test_one_foreign_among_several_is_refused(self, client: OAuthClient, browser: Browser) -> None:
        answer = browser.get(f"{client.ask()}&resource=https%3A%2F%2Fother.example")
        assert query_of(answer.headers["location"])["error"] == "invalid_target"
