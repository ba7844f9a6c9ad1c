"""Schemas written plainly, so that every client's validator takes them: no $ref, $defs, format or anyOf (part 3)."""

from typing import Any, Final

from pydantic import BaseModel

MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""

MAX_TIME_CHARS: Final = 40
UUID_PATTERN: Final = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"

Schema = dict[str, Any]


def plain_schema(model: type[BaseModel]) -> Schema:
    """Return a model's JSON Schema with optional members as plain types: leaving one out is how to not give it."""
    raw = model.model_json_schema()
    properties = {name: _plain_property(prop) for name, prop in raw["properties"].items()}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if raw.get("required"):
        schema["required"] = raw["required"]
    return schema


def _plain_property(prop: Schema) -> Schema:
    alternatives = prop.get("anyOf", [])
    given: Schema = next((option for option in alternatives if option.get("type") != "null"), {})
    merged = {**{key: value for key, value in prop.items() if key != "anyOf"}, **given}
    merged.pop("title", None)
    if merged.get("default", ...) is None:
        del merged["default"]
    return merged


def text(description: str, *, most: int, least: int = 0, nullable: bool = False) -> Schema:
    """Describe a text of ``least`` to ``most`` code points."""
    kind: str | list[str] = ["string", "null"] if nullable else "string"
    bounds: Schema = {"minLength": least} if least else {}
    return {"type": kind, "description": description, **bounds, "maxLength": most}


def identifier(description: str) -> Schema:
    """Describe a lowercase UUID."""
    return {"type": "string", "description": description, "pattern": UUID_PATTERN, "maxLength": 36}


def count(description: str, *, least: int = 0, nullable: bool = False) -> Schema:
    """Describe a whole number."""
    kind: str | list[str] = ["integer", "null"] if nullable else "integer"
    return {"type": kind, "description": description, "minimum": least, "maximum": MAX_INTEGER}


def time(description: str) -> Schema:
    """Describe a time in UTC, RFC 3339."""
    return text(f"{description} UTC, RFC 3339.", most=MAX_TIME_CHARS)


def record(description: str | None, properties: Schema, *, optional: tuple[str, ...] = ()) -> Schema:
    """Describe an object that may gain members later; all but the ``optional`` ones are always present."""
    about = {} if description is None else {"description": description}
    required = [name for name in properties if name not in optional]
    return {"type": "object", **about, "properties": properties, "required": required}


def series(description: str, item: Schema, *, most: int) -> Schema:
    """Describe a list of at most ``most`` members."""
    return {"type": "array", "description": description, "items": item, "maxItems": most}
