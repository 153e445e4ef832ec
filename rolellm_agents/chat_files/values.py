"""Read untrusted JSON with limits, and write JSON that is safe to show in a terminal."""

import json
import math
from collections.abc import Iterator
from typing import Any

from rolellm_agents.errors import ChatFileError
from rolellm_agents.text import json_escaped, replace_surrogates

Json = Any
"""A JSON value."""

FILE_BYTES = 64 * 2**20
MOST_MESSAGES = 100_000
"""The most messages of a conversation, including swipes."""
MOST_CONVERSATIONS = 10_000
"""The most conversations of a file."""
_DEPTH = 40


def parse(text: str, what: str) -> Json:
    """Parse JSON.

    Raises:
        ChatFileError: the text is not JSON, or is nested too deeply.
    """
    try:
        return _clean(json.loads(text, parse_constant=lambda _: None, parse_float=_finite), _DEPTH)
    except RecursionError:
        raise ChatFileError(f"{what} is nested too deeply; at most {_DEPTH} levels are read.") from None
    except ValueError as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise ChatFileError(f"{what} is not JSON{place}; it may be truncated.") from None


def to_json(value: Json, *, indent: int | None = None) -> str:
    """Write JSON with escaped control characters, on one line without blanks unless `indent` is given."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))
    return json_escaped(text)


def text_in(value: dict[str, Json], key: str, what: str) -> str:
    """The text of a key; empty when it is missing or null.

    Raises:
        ChatFileError: the value is not a text.
    """
    found = value.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise ChatFileError(f"{what} has no text for {key!r}; add one in quotes.")
    return found


def objects_in(value: dict[str, Json], key: str, what: str) -> Iterator[dict[str, Json]]:
    """The list of objects of a key.

    Raises:
        ChatFileError: the value is not a list of objects.
    """
    found = value.get(key)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ChatFileError(f"{what} has no list of objects for {key!r}; add one.")
    yield from found


def _finite(text: str) -> float | None:
    found = float(text)
    return found if math.isfinite(found) else None


def _clean(value: Json, depth: int) -> Json:
    """The value without lone surrogates."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if not isinstance(value, dict | list):
        return value
    if not depth:
        raise RecursionError
    if isinstance(value, dict):
        return {replace_surrogates(key): _clean(inner, depth - 1) for key, inner in value.items()}
    return [_clean(inner, depth - 1) for inner in value]
