"""``/api/docs``: the API's own description as a page to read, made from ``/api/schema`` and nothing from elsewhere."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

_METHODS: Final = ("get", "post", "put", "patch", "delete")
_JSON: Final = "application/json"
_REF: Final = "#/components/schemas/"


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show every operation: what it takes, what it answers."""
    return render(request, "api/docs.html", {"groups": _groups()})


@cache
def _groups() -> list[dict[str, Any]]:
    """Return the operations by what they are about; the description never changes while the process lives."""
    generator: Any = SchemaGenerator
    schema: dict[str, Any] = json.loads(json.dumps(generator().get_schema(request=None, public=True)))
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in schema["paths"].items():
        for method in _METHODS:
            if method in methods:
                groups.setdefault(path.split("/")[2], []).append(_operation(schema, method, path, methods[method]))
    return [{"name": name, "operations": operations} for name, operations in groups.items()]


def link_operations(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Describe where an id goes: from what made or listed a thing to what takes its id (OpenAPI's links)."""
    paths: dict[str, Any] = result["paths"]
    for path, methods in paths.items():
        below = {
            other: _parameters(other)[len(_parameters(path)) :] for other in paths if other.startswith(f"{path}/{{")
        }
        for status, where in (("201", "$response.body#/id"), ("200", f"$response.body#/{path.split('/')[-1]}/0/id")):
            answer = methods.get("post" if status == "201" else "get", {}).get("responses", {}).get(status)
            if answer is None or (status == "200" and not _is_list(methods["get"])):
                continue
            for other, more in below.items():
                if len(more) == 1:
                    parameters = {name: f"$request.path.{name}" for name in _parameters(path)} | {more[0]: where}
                    for described in paths[other].values():
                        operation = described["operationId"]
                        answer.setdefault("links", {})[operation] = {"operationId": operation, "parameters": parameters}
    return result


def _parameters(path: str) -> list[str]:
    return re.findall(r"{(\w+)}", path)


def _is_list(described: Mapping[str, Any]) -> bool:
    return any(parameter["name"] == "cursor" for parameter in described.get("parameters", ()))


def _operation(schema: Mapping[str, Any], method: str, path: str, described: Mapping[str, Any]) -> dict[str, Any]:
    body = described.get("requestBody", {}).get("content", {}).get(_JSON, {}).get("schema")
    return {
        "id": described["operationId"],
        "method": method.upper(),
        "path": path,
        "what": described.get("description", ""),
        "parameters": [
            {"name": parameter["name"], "where": parameter["in"], "kind": _kind(parameter["schema"])}
            for parameter in described.get("parameters", ())
        ],
        "fields": [] if body is None else list(_fields(schema, body)),
        "answers": [
            {
                "status": status,
                "what": answer.get("description") or _success(answer),
                "fields": _answered(schema, answer),
            }
            for status, answer in sorted(described["responses"].items())
        ],
    }


def _success(answer: Mapping[str, Any]) -> str:
    return "It was done." if answer.get("content") else "It was done; there is nothing to say."


def _answered(schema: Mapping[str, Any], answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a success; problems are all alike and described once on the page."""
    content = answer.get("content", {}).get(_JSON)
    return [] if content is None else list(_fields(schema, content["schema"]))


def _fields(schema: Mapping[str, Any], of: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    resolved = schema["components"]["schemas"][of["$ref"].removeprefix(_REF)] if "$ref" in of else of
    required = resolved.get("required", ())
    for name, described in resolved.get("properties", {}).items():
        yield {"name": name, "kind": _kind(described), "required": name in required}


def _kind(described: Mapping[str, Any]) -> str:
    """Return a field's type in words."""
    if "$ref" in described:
        return str(described["$ref"].removeprefix(_REF))
    for several in ("allOf", "anyOf", "oneOf"):
        if several in described:
            return " or ".join(_kind(one) for one in described[several])
    if "enum" in described:
        return " or ".join(json.dumps(value) for value in described["enum"])
    kinds = described.get("type", "any")
    name = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    if name == "array":
        return f"list of {_kind(described['items'])}"
    form = described.get("format")
    return f"{name} ({form})" if form else name
