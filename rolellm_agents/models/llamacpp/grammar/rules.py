"""Writing GBNF: terms, and the rules they are gathered in."""

import re
from collections.abc import Iterable, Sequence

from rolellm_agents.models.llamacpp.grammar.reading import MOST_REPEATS

Language = tuple[str, ...]
"""What may be written, as alternatives in GBNF; without any, it is nothing at all."""
Ranges = tuple[tuple[int, int], ...]
"""Sorted ranges of code points."""

EMPTY = '""'
_MOST_RULES = 20_000
_MOST_CHARACTERS = 2_000_000
_MOST_SHARED = 30
"""How many characters deep alternatives are sorted by what they begin with."""
_ATOM = re.compile(r'[A-Za-z0-9-]+|"(?:[^"\\ ]|\\.)"|\[[^\]\\ ]*\]')


class InexpressibleError(Exception):
    """Something in a schema that no grammar can promise.

    The message is what the schema does, and the next step: “asks for more than …; ask for less.”
    """


class Rules:
    """The rules of one grammar; the same alternatives are one rule, whoever asks for them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._size = 0

    def rule(self, hint: str, language: Language) -> str:
        """The name of the rule for a language that is not empty."""
        body = " | ".join(language)
        name = self._names.get(body)
        if name is None:
            number = self._counts[hint] = self._counts.get(hint, 0) + 1
            name = self._names[body] = hint if number == 1 else f"{hint}-{number}"
            self._size += len(body)
            if len(self._names) > _MOST_RULES or self._size > _MOST_CHARACTERS:
                raise InexpressibleError("is too large to become a grammar; ask for less at once.")
        return name

    def term(self, hint: str, language: Language) -> str:
        """Something that can stand in a sequence, and be repeated."""
        if len(language) == 1 and _ATOM.fullmatch(language[0]):
            return language[0]
        return self.rule(hint, language)

    def words(self, hint: str, texts: Iterable[str]) -> Language:
        """Any one of the texts; what they begin with in common is written once.

        llama.cpp follows all alternatives at once, so a thousand of them would cost it a thousand times
        as much at every token.
        """
        return self._sorted_words(hint, sorted(set(texts)), 0)

    def _sorted_words(self, hint: str, texts: Sequence[str], depth: int) -> Language:
        if len(texts) <= 2 or depth > _MOST_SHARED:
            return tuple(literal(text) for text in texts)
        language = []
        for group in _by_first(texts):
            shared = _shared_beginning(group[0], group[-1])
            if len(group) == 1 or not shared:
                language += [literal(text) for text in group]
            else:
                rests = self._sorted_words(hint, [text[len(shared) :] for text in group], depth + 1)
                language.append(f"{literal(shared)} {self.rule(hint, rests)}")
        return tuple(language)

    def grammar(self, root: Language) -> str:
        """The whole, with `root` last: what is called stands before its caller."""
        lines = [f"{name} ::= {body}" for body, name in self._names.items()]
        return "\n".join([*lines, f"root ::= {' | '.join(root)}"])


def literal(text: str) -> str:
    """Exactly this text."""
    return '"' + "".join(_in_literal(character) for character in text) + '"'


def one_of(ranges: Ranges) -> str:
    """One character out of the ranges."""
    return "[" + "".join(_in_class(first, last) for first, last in ranges) + "]"


def repeated(term: str, least: int, most: int | None) -> str:
    """A term several times; beyond what llama.cpp can count, the upper bound is lowered."""
    if least > MOST_REPEATS:
        raise InexpressibleError(f"wants {least:,} of something; ask for at most {MOST_REPEATS:,}.")
    if most is None:
        return term + {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    most = min(most, MOST_REPEATS)
    if (least, most) == (1, 1):
        return term
    if most == 0:
        return EMPTY
    if (least, most) == (0, 1):
        return f"{term}?"
    return f"{term}{{{least}}}" if least == most else f"{term}{{{least},{most}}}"


def _in_literal(character: str) -> str:
    return f"\\{character}" if character in '"\\' else _spelled(character)


def _in_class(first: int, last: int) -> str:
    return _bound(first) if first == last else f"{_bound(first)}-{_bound(last)}"


def _bound(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and character.isalnum() else _escape(code)


def _escape(code: int) -> str:
    return f"\\x{code:02X}" if code < 0x100 else f"\\U{code:08X}"


def _spelled(character: str) -> str:
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF or code == 0:
        raise InexpressibleError(f"has the character U+{code:04X}, which no text can hold; take it out.")
    return character if character.isprintable() else _escape(code)


def _by_first(texts: Sequence[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(text[:1], []).append(text)
    return list(groups.values())


def _shared_beginning(first: str, last: str) -> str:
    """Of sorted texts, what the first and the last share is shared by all."""
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]
