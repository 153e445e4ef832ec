"""Strangers' JSON, bounded before it is used; and ours, safe to show in a terminal."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from rolellm_agents.errors import ChatFileError
from rolellm_agents.text import CONTROL_CHARACTERS, whole

Json = Any
"""A JSON value."""

FILE_BYTES = 64 * 2**20
MOST_MESSAGES = 100_000
"""Of one conversation, swipes counted."""
MOST_CONVERSATIONS = 10_000
"""Of one file."""
_DEPTH = 40


def parse(text: str, what: str) -> Json:
    """A JSON value out of a text.

    Args:
        text: the text.
        what: how a message names it.

    Raises:
        ChatFileError: it is no JSON, or nested too deeply.
    """
    try:
        return _whole(json.loads(text, parse_constant=lambda _: None, parse_float=_finite), _DEPTH)
    except RecursionError:
        raise ChatFileError(f"{what} is nested too deeply; at most {_DEPTH} levels are read.") from None
    except ValueError as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise ChatFileError(f"{what} is no JSON{place}; it may be cut short.") from None


def line_of(value: Json) -> str:
    """A JSON value in one line."""
    return _shown(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def indented(value: Json) -> str:
    """A JSON value for people to read too."""
    return _shown(json.dumps(value, ensure_ascii=False, indent=2))


def text_in(value: dict[str, Json], key: str, what: str) -> str:
    """A text of an object; empty when it is missing or null.

    Raises:
        ChatFileError: it is something else.
    """
    found = value.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise ChatFileError(f"{what} has no text for {key!r}; write one in quotes there.")
    return found


def objects_in(value: dict[str, Json], key: str, what: str) -> Iterator[dict[str, Json]]:
    """The objects in a list of an object.

    Raises:
        ChatFileError: it is no list of objects.
    """
    found = value.get(key)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ChatFileError(f"{what} has no list of objects for {key!r}; write one there.")
    yield from found


def _finite(text: str) -> float | None:
    found = float(text)
    return found if math.isfinite(found) else None


def _whole(value: Json, depth: int) -> Json:
    """The same without halves of characters."""
    if isinstance(value, str):
        return whole(value)
    if not isinstance(value, dict | list):
        return value
    if not depth:
        raise RecursionError
    if isinstance(value, dict):
        return {whole(key): _whole(inner, depth - 1) for key, inner in value.items()}
    return [_whole(inner, depth - 1) for inner in value]


def _shown(text: str) -> str:
    return CONTROL_CHARACTERS.sub(_escaped, whole(text))


def _escaped(character: re.Match[str]) -> str:
    return f"\\u{ord(character.group()):04x}"
