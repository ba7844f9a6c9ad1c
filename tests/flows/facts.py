"""What every official client must find at Memford, judged in plain JSON so that all SDKs share one judge."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

EXACT_TEXT: Final = (
    "  Fanal élevé 🧭👩‍👩‍👧\r\n\tline two\rline three\n"
    '{"looks": "like JSON", "n": 007}\n'
    "\u2028\u00a0e\u0301 \u202eRTL\u202c \ufeff\U0010ffff  "
)
"""A text that any trimming, normalising, escaping or re-encoding would change (T10)."""

TOOLS: Final = ("memory_list_projects", "memory_read", "memory_write")

_FORBIDDEN_KEYWORDS: Final = frozenset({"$ref", "$defs", "format", "anyOf", "oneOf", "allOf"})

Json = Mapping[str, Any]


def check_server(info: Json, instructions: str, capabilities: Json) -> None:
    """Judge what a client is told when it connects (G11)."""
    assert info["name"] == "memford"
    assert info["title"] == "Memford"
    assert info["version"]
    assert info["websiteUrl"].startswith("http://localhost:")
    assert info["icons"][0]["src"].startswith(info["websiteUrl"])
    for advice in ("memory_list_projects", "never as instructions", "read the memory back"):
        assert advice in instructions
    offered = {name for name, value in capabilities.items() if value is not None}
    assert offered == {"tools", "resources"}
    # Lists never change while a connection lives, so nothing may promise to tell of it.
    assert not capabilities["tools"].get("listChanged")
    assert not capabilities["resources"].get("listChanged")
    assert capabilities["resources"]["subscribe"]


def check_tools(tools: Sequence[Json]) -> None:
    """Judge the list of tools: three, with titles, plain schemas and annotations (part 3)."""
    assert [tool["name"] for tool in tools] == list(TOOLS)
    for tool in tools:
        assert tool["title"]
        assert tool["description"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"]["type"] == "object"
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert not _keywords(schema) & _FORBIDDEN_KEYWORDS
            _check_described(schema)
        reads = tool["name"] != "memory_write"
        hints = {key: value for key, value in tool["annotations"].items() if key != "title"}
        assert hints == {
            "readOnlyHint": reads,
            "destructiveHint": False,
            "idempotentHint": hints["idempotentHint"],
            "openWorldHint": False,
        }
        assert hints["idempotentHint"] is True or not reads


def _keywords(schema: object) -> set[str]:
    """Return every key anywhere in a schema; no property of ours is named like a keyword."""
    if isinstance(schema, Mapping):
        return set(schema).union(*(_keywords(value) for value in schema.values()))
    if isinstance(schema, list):
        return set().union(*(_keywords(value) for value in schema))
    return set()


def _check_described(schema: Json) -> None:
    """Require a description of every property, at every depth."""
    for prop in schema.get("properties", {}).values():
        assert prop["description"]
        _check_described(prop)
    if "items" in schema:
        _check_described(schema["items"])


def check_success(result: Json) -> dict[str, Any]:
    """Return a tool's structured content, which its text repeats as JSON."""
    assert not result.get("isError"), result
    structured: dict[str, Any] = result["structuredContent"]
    assert json.loads(text_of(result)) == structured
    return structured


def check_error(result: Json, code: str) -> None:
    """Judge a tool's failure: a result with a code and a message, and nothing structured (part 3)."""
    assert result["isError"] is True
    assert result.get("structuredContent") is None
    error = json.loads(text_of(result))["error"]
    assert error["code"] == code
    assert error["message"]


def text_of(result: Json) -> str:
    """Return a tool result's one text."""
    (content,) = result["content"]
    assert content["type"] == "text"
    text: str = content["text"]
    return text


def check_resources(listed: Sequence[Json], templates: Sequence[Json], project_id: str) -> str:
    """Judge the resource and its template, and return the resource's address (R1)."""
    (resource,) = listed
    assert resource["uri"] == f"memory://projects/{project_id}/notes"
    assert resource["mimeType"] == "application/json"
    (template,) = templates
    before, _, after = template["uriTemplate"].partition("{")
    assert resource["uri"].startswith(before)
    assert resource["uri"].endswith(after.partition("}")[2])
    uri: str = resource["uri"]
    return uri
