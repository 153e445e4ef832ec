"""A tolerant JSON reader for model output: in prose or fences, truncated, or with wrong quotation marks.

The module `json` reads valid JSON. Everything else is read in one pass over the text, which never fails but
leaves out what it cannot parse.
"""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, Final

_LONGEST = 400_000
_DEEPEST = 40
"""The deepest nesting of values; deeper ones are left out."""
_SPACE = re.compile(r"(?:\s+|//[^\n]*)*")
_NUMBER = re.compile(r"-?[0-9]{1,300}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?=\s*(?:[,}\]]|\Z))")
_BARE = re.compile(r"[^,}\]\n]*")
_BARE_KEY = re.compile(r"[^\W\d][\w-]*(?=\s*[:：])")
_CLOSING: Final = {'"': '"', "'": "'", "“": "”", "‘": "’", "”": "”", "’": "’", "「": "」", "`": "`"}
_WORDS: Final[dict[str, Any]] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "nan": None,
    "undefined": None,
}
_CODES: Final = {
    # The first escape is JSON's, the others are Python's.
    "u": re.compile(r"[0-9a-fA-F]{4}"),
    "x": re.compile(r"[0-9a-fA-F]{2}"),
    "U": re.compile(r"[0-9a-fA-F]{8}"),
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_KEY = (
    r"(?:\"(?:[^\"\\]|\\.){0,400}\"|'(?:[^'\\]|\\.){0,400}'|“[^”]{0,400}”|‘[^’]{0,400}’|「[^」]{0,400}」"
    r"|`[^`]{0,400}`|[^\W\d][\w-]{0,100})\s*[:：]"
)
_AFTER_VALUE = re.compile(rf"\s*(?:\Z|[}}\]]|,\s*(?:\Z|[}}\]{{]|{_KEY})|{_KEY})", re.DOTALL)
"""What may follow the end of a string that is a member of an object."""
_AFTER_ITEM = re.compile(
    r"\s*(?:\Z|[\]}]|,\s*(?:\Z|[\]\[{\"'“‘「`\d-]|true|false|null)|\n\s*[\"'“‘「`{\[])"
)
"""What may follow the end of a string in a list."""
_AFTER_KEY = re.compile(r"\s*(?:\Z|[:：])")


def values_in(text: str) -> Iterator[Any]:
    """The outermost objects and lists of a text, in order.

    A truncated value ends where the text ends. Keys have at most 400 characters.
    """
    text = text[:_LONGEST]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield from _loose_values(text)
    else:
        if isinstance(value, dict | list):
            yield value


def _loose_values(text: str) -> Iterator[Any]:
    reader = _JsonReader(text)
    opening = re.compile(r"[{\[]")
    while found := opening.search(text, reader.at):
        reader.at = found.start()
        yield reader.value(0, _AFTER_ITEM)


class _JsonReader:
    """A position in a text and the parser from there; every step moves forward."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def value(self, depth: int, after: re.Pattern[str]) -> Any:
        """Read the value that begins here; `after` matches what may follow the end of a string."""
        self._skip_space()
        mark = self._mark()
        if mark in "{[" and mark:
            if depth >= _DEEPEST:
                self.at += 1
                return None
            return self._object(depth) if mark == "{" else self._list(depth)
        if mark in _CLOSING:
            return self._text(after)
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return json.loads(number.group())
        return self._bare()

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        held: dict[str, Any] = {}
        while (key := self._key()) is not None:
            held[key] = self.value(depth + 1, _AFTER_VALUE)
            self._skip_space()
            if self._mark() == ",":
                self.at += 1
        if self._mark() == "}":
            self.at += 1
        return held

    def _key(self) -> str | None:
        """Read the key that begins here, and its colon; None if there is no key."""
        self._skip_space()
        start = self.at
        if bare := _BARE_KEY.match(self.text, self.at):
            self.at = bare.end()
            key = bare.group()
        elif self._mark() in _CLOSING:
            key = self._text(_AFTER_KEY)
        else:
            return None
        self._skip_space()
        if self._mark() not in (":", "："):
            self.at = max(start, self.at)
            return None
        self.at += 1
        return key

    def _list(self, depth: int) -> list[Any]:
        self.at += 1
        held = []
        while True:
            self._skip_space()
            start = self.at
            if self._mark() in ("", "]", "}"):
                break
            if self._mark() != ",":
                held.append(self.value(depth + 1, _AFTER_ITEM))
                self._skip_space()
            if self._mark() == ",":
                self.at += 1
            if self.at == start:
                break
        if self._mark() == "]":
            self.at += 1
        return held

    def _text(self, after: re.Pattern[str]) -> str:
        """Read a quoted string; a quotation mark ends it only if `after` matches what follows."""
        closing = _CLOSING[self._mark()]
        self.at += 1
        pieces: list[str] = []
        while self.at < len(self.text):
            mark = self.text[self.at]
            self.at += 1
            if mark == "\\":
                pieces.append(self._escaped())
            elif mark == closing and after.match(self.text, self.at):
                break
            else:
                pieces.append(mark)
        return _joined_surrogates("".join(pieces))

    def _escaped(self) -> str:
        mark = self._mark()
        self.at += 1
        code = _CODES[mark].match(self.text, self.at) if mark in _CODES else None
        if code is None:
            return _ESCAPES.get(mark, mark)
        self.at = code.end()
        number = int(code.group(), 16)
        return chr(number) if number <= sys.maxunicode else "\N{REPLACEMENT CHARACTER}"

    def _bare(self) -> Any:
        """Read a word without quotation marks."""
        found = _BARE.match(self.text, self.at)
        word = found.group().strip() if found else ""
        self.at = found.end() if found else self.at
        return _WORDS.get(word.casefold(), word)

    def _mark(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_space(self) -> None:
        if found := _SPACE.match(self.text, self.at):
            self.at = found.end()


def _joined_surrogates(text: str) -> str:
    """Join escaped surrogate pairs, as `json` does."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
