"""Read JSON as models really write it: in prose, in fences, cut short, with the wrong quotation marks.

What is valid is read as `json` reads it. The rest is read in one pass over the text, which never fails:
what cannot be understood is left out.
"""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, Final

_LONGEST = 400_000
_DEEPEST = 40
"""Values in values; deeper ones are left out."""
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
    # The first is JSON's, the others are Python's.
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
"""What follows a text that is a member of an object, once it is over."""
_AFTER_ITEM = re.compile(
    r"\s*(?:\Z|[\]}]|,\s*(?:\Z|[\]\[{\"'“‘「`\d-]|true|false|null)|\n\s*[\"'“‘「`{\[])"
)
"""What follows a text in a list."""
_AFTER_KEY = re.compile(r"\s*(?:\Z|[:：])")


def values_in(text: str) -> Iterator[Any]:
    """The objects and lists of a text, the outermost, in their order.

    What is cut short ends where the text ends. Keys are at most 400 characters long.
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
    """A place in a text, and how to go on from it; every step goes forward."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def value(self, depth: int, after: re.Pattern[str]) -> Any:
        """The value that begins here; `after` is what follows a text in such a place."""
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
        """The key that begins here, its colon passed; None if there is none."""
        self._skip_space()
        begun = self.at
        if bare := _BARE_KEY.match(self.text, self.at):
            self.at = bare.end()
            key = bare.group()
        elif self._mark() in _CLOSING:
            key = self._text(_AFTER_KEY)
        else:
            return None
        self._skip_space()
        if self._mark() not in (":", "："):
            self.at = max(begun, self.at)
            return None
        self.at += 1
        return key

    def _list(self, depth: int) -> list[Any]:
        self.at += 1
        held = []
        while True:
            self._skip_space()
            begun = self.at
            if self._mark() in ("", "]", "}"):
                break
            if self._mark() != ",":
                held.append(self.value(depth + 1, _AFTER_ITEM))
                self._skip_space()
            if self._mark() == ",":
                self.at += 1
            if self.at == begun:
                break
        if self._mark() == "]":
            self.at += 1
        return held

    def _text(self, after: re.Pattern[str]) -> str:
        """A text in quotation marks; a mark inside that nothing fitting follows belongs to it."""
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
        """A word without quotation marks."""
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
    """Two escaped halves of a character put together, as `json` does."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
