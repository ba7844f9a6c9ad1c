"""Request bodies: bounded, strict JSON, no field that is not known, and text exactly as it came (T10)."""

from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import RequestDataTooBig
from drf_spectacular.drainage import set_override
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from memford.core.strict_json import read_json

BODY_MAX_BYTES: Final = 1_048_576

STORABLE: Final = r"^[^\u0000]*$"
STORABLE_AND_NOT_BLANK: Final = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"


class StrictJSONParser(BaseParser):
    """Reads one JSON object; NaN, Infinity and what is no UTF-8 are refused."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        """Return the object.

        Raises:
            RequestDataTooBig: It has more than ``BODY_MAX_BYTES``.
            ParseError: It is no JSON object.
        """
        data = stream.read(BODY_MAX_BYTES + 1)
        if len(data) > BODY_MAX_BYTES:
            raise RequestDataTooBig
        try:
            value = read_json(data)
        except ValueError:
            raise ParseError("The body is not JSON in UTF-8.") from None
        if not isinstance(value, dict):
            raise ParseError("The body must be one JSON object.")
        return value


class Body(serializers.Serializer[Any]):
    """A request's body; a field that is not declared is an error and not ignored."""

    def to_internal_value(self, data: Any) -> Any:
        """Check the fields.

        Raises:
            ValidationError: A field is unknown, missing or not acceptable.
        """
        unknown = set(data) - set(self.fields) if isinstance(data, Mapping) else set()
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**_named(error), **_unknown(unknown)}) from None
        if unknown:
            raise serializers.ValidationError(_unknown(unknown))
        return value


def _named(error: serializers.ValidationError) -> dict[str, Any]:
    return error.detail if isinstance(error.detail, dict) else {"body": error.detail}


def _unknown(names: set[str]) -> dict[str, list[str]]:
    return {str(name)[:100]: ["There is no such field."] for name in sorted(names, key=str)}


class Text(serializers.CharField):
    """Text exactly as it came: not trimmed, and no number or boolean taken for text.

    Its bounds are only described here; services judge them, in the words of T10. ``blank`` text may be empty.
    """

    def __init__(self, *, max_length: int | None = None, blank: bool = False, **options: Any) -> None:
        super().__init__(trim_whitespace=False, allow_blank=True, **options)
        self.validators = []
        described: dict[str, Any] = {"type": "string", "pattern": STORABLE if blank else STORABLE_AND_NOT_BLANK}
        if max_length is not None:
            described["maxLength"] = max_length
        set_override(self, "field", described)

    def to_internal_value(self, data: Any) -> str:
        """Return the text.

        Raises:
            ValidationError: It is none.
        """
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a text.")
        return data


class Number(serializers.IntegerField):
    """A whole number as JSON has it: no text, no boolean, no fraction."""

    def to_internal_value(self, data: Any) -> int:
        """Return the number.

        Raises:
            ValidationError: It is none, or out of bounds.
        """
        if not isinstance(data, int) or isinstance(data, bool):
            raise serializers.ValidationError("Must be a whole number.")
        return data
