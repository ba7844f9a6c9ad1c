"""``memford login``, ``logout``, ``status`` and ``projects`` (C1, C4)."""

import asyncio
import sys
import threading
import webbrowser
from typing import Any, Final

import anyio.to_thread
import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult

from memford.cli.output import answer, say
from memford.client.credentials import Credentials, Login
from memford.client.errors import ClientError, SignedOut
from memford.client.loopback import Return, awaiting_return
from memford.client.memory import AsyncMemory
from memford.client.oauth import NewLogin
from memford.client.places import resolve, wishes_of

PATIENCE_SECONDS: Final = 600


def login(url: str | None, *, browser: bool, as_json: bool) -> None:
    """Sign in at a server: the browser shows who asks, and the owner picks the project."""
    wished = wishes_of(url, None).url
    if wished is None:
        raise ClientError("Say which server: memford login --url https://memford.example.com")
    credentials = Credentials()
    made = asyncio.run(_sign_in(wished, credentials, browser=browser))
    what = "read and write" if made.access == "read_write" else "read"
    words = f"Signed in at {made.url}: “{made.project_name}”, to {what}. (Kept in the {credentials.vault_name}.)"
    answer({"login": _shown(made)}, words, as_json=as_json)


async def _sign_in(url: str, credentials: Credentials, *, browser: bool) -> Login:
    with awaiting_return() as expected:

        async def open_browser(address: str) -> None:
            say(f"Open this page in your browser, if it does not open by itself:\n\n  {address}\n")
            if browser:
                await anyio.to_thread.run_sync(webbrowser.open, address)
            else:
                say("Without a browser here, open it anywhere, approve, and paste the address that you are sent to:")

        async def await_return() -> AuthorizationCodeResult:
            query = await _wait(expected, from_terminal=not browser)
            if "error" in query:
                raise SignedOut(f"Nothing was approved ({query.get('error_description') or query['error']}).")
            return AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query.get("iss"))

        auth = NewLogin(url, expected.redirect_uri, open_browser, await_return)
        try:
            async with AsyncMemory(url, auth=auth) as memory:
                project = await memory.project()
        except (OAuthFlowError, OAuthRegistrationError, OAuthTokenError) as error:
            raise ClientError(f"{url} cannot be signed in to: {error}", code="protocol_error") from error
    made = Login.new(url=url, project_id=project.id, project_name=project.name, access=auth.access)
    credentials.add(made, auth.secrets)
    return made


async def _wait(expected: Return, *, from_terminal: bool) -> dict[str, str]:
    """Wait for the browser, or for somebody who pastes where it was sent."""

    def read_lines() -> None:
        for line in sys.stdin:
            if expected.take(line.strip()):
                return
            say("That is not the address. It begins with http://127.0.0.1 and holds a code.")

    if from_terminal:
        # It may wait for ever, and ends with the command.
        threading.Thread(target=read_lines, daemon=True).start()
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE_SECONDS
    while loop.time() < end:
        if not expected.queries.empty():
            return expected.queries.get()
        await asyncio.sleep(0.1)
    raise SignedOut("Nobody approved in the browser within ten minutes. Try again.")


def logout(url: str | None, project: str | None, *, as_json: bool) -> None:
    """End the connection at the server, and forget it here."""
    target = resolve(url, project)
    if target.login is None or target.credentials is None:
        raise ClientError("MEMFORD_API_KEY decides here, and no login. Unset it; a key is revoked in the workspace.")
    told = _revoke(target.login, target.credentials)
    target.credentials.remove(target.login)
    words = f"Signed out of “{target.login.project_name}” at {target.login.url}.{'' if told else ' ' + NOT_TOLD}"
    answer({"signed_out": _shown(target.login), "revoked": told}, words, as_json=as_json)


NOT_TOLD: Final = "The server could not be told: disconnect it on the project's Access page."


def _revoke(login: Login, credentials: Credentials) -> bool:
    """Tell the server (RFC 7009); return whether it knows."""
    secrets = credentials.secrets(login)
    if secrets is None:
        return False
    form = {"token": secrets.tokens.get("refresh_token", ""), "client_id": secrets.client.get("client_id", "")}
    try:
        return httpx2.post(f"{login.url}/revoke", data=form, timeout=10).status_code == 200
    except httpx2.HTTPError:
        return False


def status(*, as_json: bool) -> None:
    """Show what is used here, why, and all logins."""
    credentials = Credentials()
    logins = [_shown(each) for each in credentials.logins()]
    data: dict[str, Any] = {"logins": logins, "kept_in": credentials.vault_name}
    try:
        target = resolve(credentials=credentials)
        data["here"] = {"url": target.url, "connection": target.connection, "why": target.why}
        lines = [f"Here: {target.url}, {target.login.project_name if target.login else 'by key'} ({target.why})."]
        used = target.login.id if target.login else None
    except ClientError as error:
        data["here"] = {"problem": error.message}
        lines, used = [f"Here: {error.message}"], None
    for each in credentials.logins():
        mark = "*" if each.id == used else " "
        lines.append(f"{mark} {each.url}  “{each.project_name}”  {each.access}  since {each.made_at}")
    answer(data, "\n".join(lines), as_json=as_json)


def projects(url: str | None, project: str | None, *, as_json: bool) -> None:
    """Show the project that the connection reaches, as the server knows it now."""
    target = resolve(url, project)

    async def ask() -> dict[str, Any]:
        async with target.memory() as memory:
            return (await memory.project()).model_dump()

    found = asyncio.run(ask())
    words = f"{found['name']}  {found['id']}  {found['notes_count']} notes"
    answer({"projects": [found]}, words, as_json=as_json)


def _shown(login: Login) -> dict[str, Any]:
    return login.model_dump(exclude={"id"})
