"""Strangers' JSON in, the same JSON out.

What other programs write is read: a byte order mark, NaN, text that is not quite UTF-8. Keys keep their
order and numbers their kind; of a key that stands twice the last one counts, as in every other reader.
"""

import json
import math
from collections.abc import Mapping

from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.limits import CARD_BYTES, DEPTH
from rolellm_agents.cards.values import Json


def read_json(content: bytes, what: str) -> dict[str, Json]:
    """An object out of bytes.

    Args:
        content: JSON, in UTF-8 unless it cannot be.
        what: how a message names it.

    Raises:
        CardError: it is too large, no JSON, nested too deeply, or no object.
    """
    if len(content) > CARD_BYTES:
        raise CardError(f"{what} has {len(content):,} bytes of JSON; at most {CARD_BYTES:,} are read.")
    try:
        found = json.loads(_decoded(content), parse_constant=lambda _: None, parse_float=_finite)
    except RecursionError:
        raise CardError(f"{what} is nested too deeply; at most {DEPTH} levels are read.") from None
    except ValueError as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise CardError(f"{what} is no JSON{place}; it may be cut short.") from None
    if not isinstance(found, dict):
        raise CardError(f"{what} holds no JSON object, so it is neither a card nor a lorebook.")
    _check_depth(found, what)
    return found


def write_json(document: Mapping[str, Json], *, indent: int | None = None) -> bytes:
    """JSON in UTF-8; a character cut in half, which UTF-8 cannot hold, stays escaped."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(document, ensure_ascii=False, indent=indent, separators=separators)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(document, indent=indent, separators=separators).encode("ascii")


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Some programs write what the system's table gives; nothing is lost by trying it.
        return content.decode("cp1252", "replace")


def _finite(text: str) -> float | None:
    found = float(text)
    return found if math.isfinite(found) else None


def _check_depth(document: dict[str, Json], what: str) -> None:
    level: list[Json] = [document]
    for _ in range(DEPTH):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise CardError(f"{what} is nested too deeply; at most {DEPTH} levels are read.")
