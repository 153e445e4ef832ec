"""Texts as JSON spells them; here each has one spelling only, so that it can be compared."""

import json
from collections.abc import Iterable
from typing import Any

from rolellm_agents.models.llamacpp.grammar.reading import inverse, joined
from rolellm_agents.models.llamacpp.grammar.rules import (
    InexpressibleError,
    Language,
    Ranges,
    Rules,
    literal,
    one_of,
    repeated,
)

QUOTE = literal('"')
CHARACTER: Language = (r'[^"\\\x00-\x1F\x7F]', r'"\\" ["\\nrt]')
"""Characters that need an escape and are none of these are left out: no text of a persona wants them."""
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN: Ranges = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E), (0x80, 0xD7FF), (0xE000, 0x10FFFF))
_LONGEST_NAME = 200


def text(rules: Rules, least: int, most: int | None) -> Language:
    """Any JSON string of so many characters."""
    if most is not None and least > most:
        return ()
    return (f"{QUOTE} {repeated(rules.rule('char', CHARACTER), least, most)} {QUOTE}",)


def spelled(ranges: Ranges) -> Language:
    """One character out of the ranges, as it stands in a JSON string."""
    plain = common(ranges, _PLAIN)
    language = [literal(chr(plain[0][0]))] if _is_single(plain) else [one_of(plain)] if plain else []
    for character, escape in _ESCAPED.items():
        if any(first <= ord(character) <= last for first, last in ranges):
            language.append(literal(escape))
    return tuple(language)


def written(value: Any) -> str:
    """A value as JSON text, in the spelling that models like."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def key_other_than(rules: Rules, names: Iterable[str]) -> Language:
    """Any JSON string of one character or more but the names."""
    taken = [name for name in names if name]
    if not taken:
        return text(rules, 1, 64)
    if max(map(len, taken)) > _LONGEST_NAME:
        raise InexpressibleError(f"has a name longer than {_LONGEST_NAME} characters; shorten it.")
    return tuple(f"{QUOTE} {rest}" for rest in _other_than(rules, taken, may_end=False))


def _other_than(rules: Rules, names: list[str], *, may_end: bool) -> Language:
    """The rest of a key, with its quotation mark: at some character it leaves all the names."""
    by_first: dict[str, list[str]] = {}
    for name in filter(None, names):
        by_first.setdefault(name[0], []).append(name[1:])
    others = spelled(inverse(joined([(ord(first), ord(first)) for first in by_first])))
    rest = f"{rules.rule('char', CHARACTER)}* {QUOTE}"
    language = [f"{rules.term('other', others)} {rest}"]
    if may_end and "" not in names:
        language.append(QUOTE)
    for first, rests in by_first.items():
        same = spelled(((ord(first), ord(first)),))
        if same:
            language.append(f"{same[0]} {rules.rule('key', _other_than(rules, rests, may_end=True))}")
    return tuple(language)


def common(some: Ranges, others: Ranges) -> Ranges:
    """The code points in both."""
    return joined([(max(a, c), min(b, d)) for a, b in some for c, d in others])


def _is_single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]
