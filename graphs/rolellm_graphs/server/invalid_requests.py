"""What is wrong with a request, in one sentence and with OpenAI's codes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from rolellm_agents.text import one_line
from rolellm_graphs.server.wire import NO_UNICODE

_SHOWN: Final = 300
_BEGINNING: Final = re.compile(r"^(Input|String|List|Tuple|Dictionary|Value) should ")
_CODES: Final[Mapping[str, str]] = {
    "missing": "missing_required_parameter",
    "value_error": "invalid_value",
    "literal_error": "invalid_value",
    "greater_than": "invalid_value",
    "greater_than_equal": "invalid_value",
    "less_than": "invalid_value",
    "less_than_equal": "invalid_value",
    "too_long": "invalid_value",
    "too_short": "invalid_value",
    "string_too_long": "invalid_value",
    "string_too_short": "invalid_value",
}
_WRONG_TYPE: Final = "invalid_type"
_OFF: Final = ("False", "0")
"""The only values of fields that are not supported."""
_NO_OBJECT: Final = ("model_type", "model_attributes_type", "dict_type")


class Problem(NamedTuple):
    """What is wrong with a request."""

    message: str
    param: str | None
    """The field, as OpenAI writes it: `messages[0].role`; None for the request as a whole."""
    code: str | None


def problem_of(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """The first of pydantic's errors in a request's body."""
    first = errors[0]
    kind = first["type"]
    if kind == "json_invalid":
        return Problem("The request is not JSON; send a JSON object.", None, None)
    if kind == NO_UNICODE:
        field = one_line(first["ctx"]["field"], _SHOWN)
        return Problem(one_line(f"{first['msg']}.", _SHOWN), field, "invalid_value")
    param = _path(first["loc"][1:])
    message = one_line(f"{param or 'The request'} {_words(first)}.", _SHOWN)
    return Problem(message, param or None, _CODES.get(kind, _WRONG_TYPE))


def _words(error: Mapping[str, Any]) -> str:
    """What the field must be."""
    kind, context = error["type"], error.get("ctx", {})
    must = _BEGINNING.sub("must ", error["msg"])
    if kind == "missing":
        return "is missing; add it"
    if kind == "value_error":
        return f"cannot be used: {error['msg'].removeprefix('Value error, ')}"
    if kind == "none_required" or context.get("max_length") == 0 or context.get("expected") in _OFF:
        return "is not supported here; leave it out"
    if kind in _NO_OBJECT:
        return "must be an object"
    if kind.endswith("_parsing"):
        return must.partition(", unable to")[0]
    return must.partition(" after validation")[0]


def _path(parts: Sequence[str | int]) -> str:
    """A field's place as OpenAI writes it."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{one_line(part, _SHOWN)}" if path else one_line(part, _SHOWN)
    return path
