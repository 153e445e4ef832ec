"""Read untrusted JSON with limits, write it unchanged, and show parts of it.

Irregularities of other programs are accepted: a byte order mark, NaN, invalid UTF-8. Keys keep their order
and numbers their type. If a key is repeated, its last value is used.
"""

import json
import math
import re
from collections.abc import Mapping

from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.values import Json

CARD_BYTES = 64 * 2**20
"""The most bytes of a card's JSON, after base64 and decompression."""
VALUES = 5_000_000
"""The most commas, lists and objects; each may become a value of some dozen bytes."""
DEPTH = 40
"""The deepest nesting of lists and objects."""
_INVISIBLE = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e0fff]"
)


def read_json(content: bytes, what: str) -> dict[str, Json]:
    """Parse a JSON object.

    The content is in UTF-8; UTF-16 and CP1252 are recognised.

    Raises:
        CardError: the content is too large, is not a JSON object, or is nested too deeply.
    """
    if len(content) > CARD_BYTES:
        raise CardError(f"{what} has {len(content):,} bytes of JSON; at most {CARD_BYTES:,} are read.")
    if sum(map(content.count, (b",", b"[", b"{"))) > VALUES:
        raise CardError(f"{what} holds too many values; at most {VALUES:,} are read.")
    try:
        found = json.loads(_decoded(content), parse_constant=lambda _: None, parse_float=_finite)
    except RecursionError:
        raise CardError(f"{what} is nested too deeply; at most {DEPTH} levels are read.") from None
    except ValueError as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise CardError(f"{what} is not JSON{place}; it may be truncated.") from None
    if not isinstance(found, dict):
        raise CardError(f"{what} holds no JSON object, so it is neither a card nor a lorebook.")
    _check_depth(found, what)
    return found


def write_json(document: Mapping[str, Json], *, indent: int | None = None) -> bytes:
    """JSON in UTF-8; with lone surrogates, which UTF-8 cannot encode, escaped ASCII."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(document, ensure_ascii=False, indent=indent, separators=separators)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(document, indent=indent, separators=separators).encode("ascii")


def json_path(parent: str, step: str | int) -> str:
    """The path of a member: `data.name`, `data.tags[0]`, or `extensions['a b']` for an unusual key.

    `parent` is the path of the object or list, empty for the document itself; `step` is the member's key or
    index.
    """
    if isinstance(step, str) and step.isidentifier():
        return f"{parent}.{step}" if parent else step
    return f"{parent}[{step!r}]"


def printable(words: str) -> str:
    """Escape control characters, lone surrogates and bidirectional marks, for messages in a terminal."""
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), words)


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Some programs write in the Windows code page.
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
