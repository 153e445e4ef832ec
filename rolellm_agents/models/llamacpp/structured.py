"""Structured output for LangChain: answers as objects of a schema."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.output_parsers import BaseOutputParser, JsonOutputParser, PydanticOutputParser
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema
from langchain_core.utils.pydantic import is_basemodel_subclass
from pydantic import BaseModel

from rolellm_agents.errors import AnswerFormatError
from rolellm_agents.models.llamacpp.engine.constraint import ANY_OBJECT, choice_grammar, schema_grammar

Method = Literal["json_schema", "function_calling", "json_mode"]
"""LangChain's methods; this model always constrains decoding by a grammar."""

_OF_NAMES = ("properties", "patternProperties", "$defs", "definitions")
_OF_LISTS = ("anyOf", "oneOf", "prefixItems")
_OF_ONE = ("items", "additionalProperties", "contains")


def structured(
    model: BaseChatModel, schema: dict[str, Any] | type | None, *, method: Method, include_raw: bool
) -> Runnable[LanguageModelInput, Any]:
    """Implement `with_structured_output` for a model whose calls take `json_schema`.

    The arguments are those of the model's `with_structured_output`.
    """
    bound = model.bind(
        json_schema=ANY_OBJECT if schema is None else closed(json_schema_of(schema)),
        ls_structured_output_format={
            "kwargs": {"method": method},
            "schema": None if schema is None else convert_to_json_schema(schema),
        },
    )
    parser: BaseOutputParser[Any] = JsonOutputParser()
    if isinstance(schema, type) and is_basemodel_subclass(schema):
        parser = PydanticOutputParser(pydantic_object=schema)
    if not include_raw:
        return bound | parser
    parsed = RunnablePassthrough.assign(parsed=itemgetter("raw") | parser, parsing_error=lambda _: None)
    failed = RunnablePassthrough.assign(parsed=lambda _: None)
    return RunnableMap(raw=bound) | parsed.with_fallbacks([failed], exception_key="parsing_error")


def json_schema_of(schema: dict[str, Any] | type) -> dict[str, Any]:
    """The JSON Schema of a pydantic class or TypedDict; a schema is returned unchanged."""
    if isinstance(schema, dict):
        # OpenAI's format of a function: a name beside the schema of its arguments.
        return dict(schema["parameters"]) if "name" in schema and "parameters" in schema else schema
    if issubclass(schema, BaseModel):
        return schema.model_json_schema()
    return convert_to_json_schema(schema)


def closed(schema: Any) -> Any:
    """A copy of the schema without additional properties, which a small model would invent endlessly."""
    if not isinstance(schema, Mapping):
        return schema
    copy = dict(schema)
    for key in _OF_NAMES:
        if isinstance(copy.get(key), Mapping):
            copy[key] = {name: closed(part) for name, part in copy[key].items()}
    for key in _OF_LISTS:
        if isinstance(copy.get(key), list):
            copy[key] = [closed(part) for part in copy[key]]
    for key in _OF_ONE:
        if key in copy:
            copy[key] = closed(copy[key])
    if "properties" in copy and "allOf" not in copy and "patternProperties" not in copy:
        copy.setdefault("additionalProperties", False)
    return copy


def grammar_of(options: Mapping[str, Any]) -> str:
    """The grammar that a call's options request; empty when they request none.

    The options are `json_schema`, `choices` (exactly one of several words), `grammar` (llguidance's
    format), and OpenAI's `response_format`.

    Raises:
        AnswerFormatError: the options are invalid or cannot become a grammar.
    """
    if options.get("grammar"):
        return str(options["grammar"])
    if options.get("choices"):
        return choice_grammar(options["choices"])
    schema = options.get("json_schema")
    if schema is None:
        schema = _of_response_format(options.get("response_format"))
    return "" if schema is None else schema_grammar(schema)


def _of_response_format(response_format: Any) -> Mapping[str, Any] | None:
    match response_format:
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return schema  # type: ignore[no-any-return]
        case {"type": "json_schema"}:
            raise AnswerFormatError(
                "The response_format has the type json_schema and no schema; put one into "
                "response_format.json_schema.schema."
            )
        case {"type": "json_object"}:
            return ANY_OBJECT
    return None
