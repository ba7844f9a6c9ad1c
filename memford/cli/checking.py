"""``memford check``: what a connection has, and for each problem the one thing to do (C3)."""

import asyncio
import time
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from typing import Final

import httpx2

from memford.cli.output import Exit, answer, status_of
from memford.client.errors import ClientError, Unreachable
from memford.client.places import Target, resolve

CLOCK_MAX_SECONDS: Final = 120
TOOLS: Final = ("memory_list_projects", "memory_read", "memory_write")


@dataclass
class Finding:
    """One thing that was looked at; ``do`` is empty where it is well."""

    what: str
    found: str
    do: str = ""
    status: int = Exit.DONE


def check(url: str | None, project: str | None, *, as_json: bool) -> Exit:
    """Print the findings, and return the status of the first that is not well."""
    findings = asyncio.run(look(url, project))
    lines = [
        f"! {each.what}: {each.found}. {each.do}" if each.do else f"✓ {each.what}: {each.found}" for each in findings
    ]
    data = {"ok": not any(each.do for each in findings), "findings": [asdict(each) for each in findings]}
    answer(data, "\n".join(lines), as_json=as_json)
    return next((Exit(each.status) for each in findings if each.do), Exit.DONE)


async def look(url: str | None, project: str | None) -> list[Finding]:
    """Look at the address, the clock, the credential, and what it opens, as far as one gets."""
    try:
        target = resolve(url, project)
    except ClientError as error:
        return [Finding("credential", "none", error.message, status_of(error))]
    findings = [Finding("server", f"{target.url} ({target.why})")]
    try:
        findings.append(await _clock(target))
    except ClientError as error:
        return [*findings, Finding("address", "no answer", error.message, status_of(error))]
    try:
        findings += await _connection(target)
    except ClientError as error:
        findings.append(Finding("credential", "refused", error.message, status_of(error)))
    return findings


async def _clock(target: Target) -> Finding:
    try:
        async with httpx2.AsyncClient(timeout=10) as http:
            response = await http.get(f"{target.url}/healthz")
    except httpx2.HTTPError as error:
        words = f"{target.url} cannot be reached ({type(error).__name__}). Is it the right address?"
        raise Unreachable(words) from error
    if response.status_code != 200:
        raise Unreachable(f"{target.url} answered {response.status_code}; it is no Memford, or it is not well.")
    date = response.headers.get("Date")
    skew = time.time() - parsedate_to_datetime(date).timestamp() if date else 0.0
    if abs(skew) > CLOCK_MAX_SECONDS:
        found = f"{abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}"
        return Finding("clock", found, "Set this machine's clock.", Exit.FAILED)
    return Finding("clock", "agrees with the server's")


async def _connection(target: Target) -> list[Finding]:
    async with target.memory() as memory:
        project = await memory.project()
        offered = {tool.name for tool in (await memory.client.list_tools()).tools}
        findings = [
            Finding("protocol", memory.protocol_version),
            Finding("project", f"{project.name} ({project.id}), {project.notes_count} notes"),
        ]
        wished = target.project
        if wished and wished not in {project.id, project.name}:
            findings.append(Finding("project", f"not {wished}", "Sign in for that project: memford login.", 1))
        missing = [tool for tool in TOOLS if tool not in offered]
        tools = Finding("tools", ", ".join(sorted(offered)))
        if missing:
            tools.do, tools.status = f"{', '.join(missing)} is missing; the server is of another version.", 1
        findings.append(tools)
        findings.append(Finding("access", await _access(target)))
        return findings


async def _access(target: Target) -> str:
    if target.login is not None:
        return "read and write" if target.login.access == "read_write" else "read only"
    return "by a project key: what it may do is on the project's Access page"
