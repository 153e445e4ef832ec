"""JSON Schema's keywords, checked for being what they should be: a schema may come from anyone."""

from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError
from pydantic.alias_generators import to_camel

from rolellm_agents.models.llamacpp.grammar.numbers import Bounds
from rolellm_agents.models.llamacpp.grammar.rules import InexpressibleError

Schema = bool | dict[str, Any]
_Type = Literal["null", "boolean", "integer", "number", "string", "array", "object"]
_Number = int | float
_BEYOND_GRAMMARS = (
    *("not", "if", "then", "else", "contains", "dependentRequired", "dependentSchemas", "dependencies"),
    *("$dynamicRef", "$recursiveRef", "unevaluatedItems"),
)


class _Tag(BaseModel):
    model_config = ConfigDict(strict=True, alias_generator=to_camel)

    property_name: str


class Keywords(BaseModel):
    """One schema's own keywords; others are annotations, which ask for nothing."""

    model_config = ConfigDict(strict=True, frozen=True, alias_generator=to_camel)

    ref: str | None = Field(default=None, alias="$ref")
    all_of: list[Schema] = []
    any_of: list[Schema] | None = None
    one_of: list[Schema] | None = None
    discriminator: _Tag | None = None
    type: _Type | list[_Type] | None = None
    enum: list[Any] | None = None
    const: Any = None
    minimum: _Number | None = None
    maximum: _Number | None = None
    exclusive_minimum: bool | _Number | None = None
    exclusive_maximum: bool | _Number | None = None
    multiple_of: _Number | None = None
    min_length: NonNegativeInt = 0
    max_length: NonNegativeInt | None = None
    pattern: str | None = None
    format: str | None = None
    min_items: NonNegativeInt = 0
    max_items: NonNegativeInt | None = None
    prefix_items: list[Schema] = []
    items: Schema | list[Schema] = True
    additional_items: Schema = True
    unique_items: bool = False
    min_properties: NonNegativeInt = 0
    max_properties: NonNegativeInt | None = None
    properties: dict[str, Schema] = {}
    required: list[str] = []
    additional_properties: Schema = True
    pattern_properties: dict[str, Schema] = {}
    property_names: Schema = True
    unevaluated_properties: Schema = True

    @property
    def values(self) -> tuple[Any, ...] | None:
        """What `enum` and `const` leave."""
        if "const" in self.model_fields_set:
            return (self.const,)
        return None if self.enum is None else tuple(self.enum)

    @property
    def bounds(self) -> Bounds:
        """Of a number; before JSON Schema's draft 6, “exclusive” was a yes or no."""
        bounds = Bounds(
            low=_decimal(self.minimum),
            low_open=self.exclusive_minimum is True,
            high=_decimal(self.maximum),
            high_open=self.exclusive_maximum is True,
        )
        if not isinstance(self.exclusive_minimum, bool | None):
            bounds = bounds.meet(Bounds(low=_decimal(self.exclusive_minimum), low_open=True))
        if not isinstance(self.exclusive_maximum, bool | None):
            bounds = bounds.meet(Bounds(high=_decimal(self.exclusive_maximum), high_open=True))
        return bounds

    @property
    def step(self) -> Decimal | None:
        """What a number is a multiple of."""
        return _decimal(self.multiple_of)


def keywords_of(schema: dict[str, Any]) -> Keywords:
    """The keywords of one schema.

    Raises:
        InexpressibleError: one of them is wrong, or says what a grammar cannot.
    """
    for name in _BEYOND_GRAMMARS:
        if name in schema:
            raise InexpressibleError(f"has “{name}”, which a grammar cannot promise; say it without.")
    try:
        return Keywords.model_validate(schema)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"][:1])
        raise InexpressibleError(f"has a wrong “{place}” ({first['msg']}); put it right.") from error


def _decimal(number: _Number | None) -> Decimal | None:
    """The number as it was written, not as it is held."""
    return None if number is None else Decimal(repr(number))
