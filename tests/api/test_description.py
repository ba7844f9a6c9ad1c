"""The API describes itself, truly and without loading anything from elsewhere (part 6)."""

import json
import re
import subprocess
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

from tests.api.caller import Caller
from tests.isolation.test_owner_api import operations
from tests.oauth import send


def test_every_operation_is_described(stranger: Caller) -> None:
    schema = stranger.get("schema")
    assert schema["openapi"].startswith("3.1")
    assert schema["servers"] == [{"url": stranger.url}]
    described = {
        f"{method.upper()} {re.sub(r'{(\w+)}', r'<str:\1>', path.removeprefix('/api/'))}"
        for path, methods in schema["paths"].items()
        for method in methods
    }
    assert described | {"GET schema", "GET docs"} == set(operations()) | {"GET schema"}
    for component in schema["components"]["schemas"].values():
        Draft202012Validator.check_schema(component)


def test_the_page_names_every_operation_and_loads_nothing_from_elsewhere(stranger: Caller) -> None:
    page = send("GET", f"{stranger.url}/api/docs")
    assert page.status_code == 200
    for operation in set(operations()) - {"GET schema", "GET docs"}:
        method, route = operation.split()
        assert f"{method} /api/{re.sub(r'<str:(\w+)>', r'{\1}', route)}" in page.text
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page.text)
    assert "<script" not in page.text
    assert "style=" not in page.text


CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "negative_data_rejection",
    "use_after_free",
    "ensure_resource_availability",
]


def test_no_call_within_or_without_the_description_breaks_it(api: Caller, tmp_path: Path) -> None:
    """Schemathesis: examples, coverage, fuzzing and stateful links over every operation, for a bounded time."""
    schema = api.get("schema")
    # The cookie goes with every call, so calls without it are none of its business.
    del schema["components"]["securitySchemes"]
    for methods in schema["paths"].values():
        for described in methods.values():
            described.pop("security", None)
    described_in = tmp_path / "schema.json"
    described_in.write_text(json.dumps(schema))
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "run",
        str(described_in),
        f"--url={api.url}",
        f"--header=Origin: {api.url}",
        f"--header=Cookie: sessionid={api.cookie}",
        f"--checks={','.join(CHECKS)}",
        "--exclude-operation-id=signOut",
        "--max-examples=5",
        "--seed=1",
        "--continue-on-failure",
        "--suppress-health-check=all",
        "--request-timeout=20",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, f"{done.stdout[-8_000:]}\n{done.stderr[-2_000:]}"
    for phase in ("Coverage", "Fuzzing", "Stateful"):
        assert phase in done.stdout


def test_ids_lead_from_what_made_them_to_what_takes_them(stranger: Caller) -> None:
    made = stranger.get("schema")["paths"]["/api/projects/{project_id}/notes"]["post"]["responses"]["201"]["links"]
    assert made["listNoteRevisions"] == {
        "operationId": "listNoteRevisions",
        "parameters": {"project_id": "$request.path.project_id", "note_id": "$response.body#/id"},
    }
