"""What a tool is: its words and schemas, its arguments as a model, and the work it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

from mcp_types import Tool as AdvertisedTool
from mcp_types import ToolAnnotations
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from mcp_gateway.tools.schema import plain_schema
from memford.core import scopes
from memford.core.errors import InvalidArguments
from memford.core.principal import Principal
from memford.core.text import unstorable


class Arguments(BaseModel):
    """The arguments of a tool: closed, strict, and an explicit null counts as absent (part 3)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    # Texts that are only ever compared: whatever they hold, they are unknown and not malformed (T5, T8).
    compared: ClassVar[frozenset[str]] = frozenset({"project_id", "cursor"})


def _whole(value: object) -> object:
    """Take 5.0 for 5: JSON Schema knows one kind of number, and calls both integers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(_whole)]


@dataclass(frozen=True)
class Tool[ArgumentsT: Arguments]:
    """One tool; ``run`` is synchronous and is called in a database thread."""

    name: str
    title: str
    description: str
    arguments: type[ArgumentsT]
    output_schema: dict[str, Any]
    run: Callable[[Principal, ArgumentsT], dict[str, Any]]
    scope: str

    @cached_property
    def advertised(self) -> AdvertisedTool:
        """Return the tool as ``tools/list`` shows it."""
        reads = self.scope == scopes.READ
        return AdvertisedTool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=plain_schema(self.arguments),
            output_schema=self.output_schema,
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=reads,
                destructive_hint=False,
                # Writing again without a checkpoint stores a second note.
                idempotent_hint=reads,
                open_world_hint=False,
            ),
        )

    def parse(self, given: Mapping[str, Any] | None) -> ArgumentsT:
        """Return the arguments as the tool's model.

        Raises:
            InvalidArguments: One is missing, unknown, of the wrong type, or outside its bounds.
        """
        present = {name: value for name, value in (given or {}).items() if value is not None}
        known = self.arguments.model_fields
        if unknown := [_printable(name) for name in present if name not in known]:
            raise InvalidArguments({name: f"is not an argument; there are {', '.join(known)}" for name in unknown})
        for name, value in present.items():
            # Lone surrogates are dealt with here, because the validator could not say more than "no text".
            if not isinstance(value, str):
                continue
            if name in self.arguments.compared:
                present[name] = value.encode("utf-8", "replace").decode()
            elif problem := unstorable(value):
                raise InvalidArguments({name: problem})
        try:
            return self.arguments.model_validate(present)
        except ValidationError as error:
            raise InvalidArguments(
                {str(problem["loc"][0]): _problem(problem["type"], problem["msg"]) for problem in error.errors()}
            ) from None


def _printable(name: str) -> str:
    # An unknown argument's name is the caller's own text: it may be long, or no Unicode at all.
    return name.encode("utf-8", "backslashreplace").decode()[:100]


def _problem(kind: str, message: str) -> str:
    if kind == "missing":
        return "is required"
    return message[0].lower() + message[1:]
