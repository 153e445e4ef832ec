"""How values are stored in few bytes: words, times, and JSON of which most is the same every time."""

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from rolellm_agents.text import whole

_WORTH_DEFLATING = 120
"""Bytes; what is shorter hardly shrinks, and stays readable in any SQLite tool."""
_RAW_DEFLATE = -15
_GAP = "\x1f"
"""JSON has no such character: in its strings it is escaped."""
_VALUE = re.compile(
    r'"[0-9a-f]{8,}"'  # a hash or an id: no two are alike
    r'|(?P<kept>"(?:[^"\\]|\\.)*")'
    r"|null|NaN|-?Infinity|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
)
_parse = json.JSONDecoder().raw_decode
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - in UTC, as all times here; without a zone it is quicker
_MILLISECOND = timedelta(milliseconds=1)


def pack_text(text: str) -> str | bytes:
    """A text as it is, or deflated where that is shorter."""
    text = whole(text)
    raw = text.encode()
    if len(raw) < _WORTH_DEFLATING:
        return text
    deflated = zlib.compress(raw, wbits=_RAW_DEFLATE)
    return deflated if len(deflated) < len(raw) else text


def unpack_text(stored: str | bytes) -> str:
    """Undo `pack_text`."""
    return stored if isinstance(stored, str) else zlib.decompress(stored, wbits=_RAW_DEFLATE).decode()


def split_json(value: Mapping[str, Any]) -> tuple[str, str]:
    """Split an object into what it shares with others, and what is its own.

    Returns:
        The object as JSON with a gap for each number, null, hash and id; and what goes into the gaps.
    """
    own: list[str] = []

    def take(found: re.Match[str]) -> str:
        if found["kept"] is not None:
            return found["kept"]
        own.append(found.group())
        return _GAP

    shape = _VALUE.sub(take, to_json(value))
    return shape, _GAP.join(own)


def join_json(shape: str | bytes, own: str | bytes | None) -> dict[str, Any]:
    """Undo `split_json`, after both went through `pack_text`."""
    values = tuple(unpack_text(own).split(_GAP)) if own else ()
    value: dict[str, Any] = _parse(_template(shape) % values)[0]
    return value


def digest_of(text: str) -> int:
    """A number of 63 bits that other texts hardly share."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def to_json(value: Any) -> str:
    """Compact JSON, Chinese as it is; half a character, which no file takes, as U+FFFD."""
    return whole(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def to_milliseconds(moment: str) -> int:
    """ISO 8601 as milliseconds since 1970; without a zone it is UTC.

    Raises:
        ValueError: it is no such time.
    """
    found = datetime.fromisoformat(moment)
    return (
        (found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found) - _EPOCH
    ) // _MILLISECOND


def to_iso(milliseconds: int) -> str:
    """Milliseconds since 1970 as ISO 8601 in UTC."""
    day, rest = divmod(milliseconds, 86_400_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{_day(day)}T{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}.{rest % 1000:03}Z"


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return (_EPOCH + timedelta(days=number)).date().isoformat()


@lru_cache(maxsize=512)
def _template(shape: str | bytes) -> str:
    return unpack_text(shape).replace("%", "%%").replace(_GAP, "%s")
