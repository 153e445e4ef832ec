"""From JSON Schema to GBNF.

Whatever the grammar lets pass is valid; not all that is valid passes. Names come in the schema's order,
white space is at most one space after a comma or colon, nothing nests endlessly, and members that the
schema does not describe are left out where it describes some.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.grammar.alternatives import Document
from rolellm_agents.models.llamacpp.grammar.comparing import fits
from rolellm_agents.models.llamacpp.grammar.ending import shortest_length
from rolellm_agents.models.llamacpp.grammar.formats import FORMATS
from rolellm_agents.models.llamacpp.grammar.keywords import Schema
from rolellm_agents.models.llamacpp.grammar.numbers import integers, multiples, numbers
from rolellm_agents.models.llamacpp.grammar.patterns import matches
from rolellm_agents.models.llamacpp.grammar.rules import (
    EMPTY,
    InexpressibleError,
    Language,
    Rules,
    literal,
    repeated,
)
from rolellm_agents.models.llamacpp.grammar.shapes import Shape, Span, canonical
from rolellm_agents.models.llamacpp.grammar.strings import QUOTE, key_other_than, text, written

DEEPEST = 24
"""How many objects and lists may be in each other."""
_DEEPEST_FREE = 5
"""The same, where the schema does not say what they hold."""
_MOST_PLACES = 20_000
_MOST_STATES = 20_000
_COMMA = '"," " "?'
_COLON = '":" " "?'
_MOST_VALUES = 2000
_LONGEST_SHORTEST = 10_000
_LONGEST_PATH = 60
_Ending = Callable[[int], Language]
"""What may follow so many members."""


def convert(schema: Schema) -> str:
    """The grammar of the JSON texts that are valid against `schema`; see the module.

    Raises:
        ModelError: the schema is wrong, too large, or asks for what a grammar cannot promise.
    """
    conversion = _Conversion(schema)
    language = conversion.language(schema, "$", DEEPEST)
    if not language:
        raise ModelError(
            f"The answer's schema allows no value at {_shortened(conversion.impossible)}; "
            "check what it requires against its bounds."
        )
    grammar = conversion.rules.grammar(language)
    shortest = shortest_length(grammar)
    if shortest > _LONGEST_SHORTEST:
        raise ModelError(
            f"The answer's schema asks for at least {shortest:,} characters; "
            f"ask for {_LONGEST_SHORTEST:,} at most."
        )
    return grammar


class _Conversion:
    """One schema on its way to a grammar."""

    def __init__(self, schema: Schema) -> None:
        self.rules = Rules()
        self.impossible = "$"
        """Where it first turned out that nothing can be written."""
        self._document = Document(schema)
        self._known: dict[tuple[str, int], Language] = {}

    def language(self, schema: Schema, path: str, depth: int) -> Language:
        """What may be written for a part of the schema, in which `depth` more containers may nest."""
        key = json.dumps(schema), depth
        if key not in self._known:
            try:
                if len(self._known) > _MOST_PLACES:
                    raise InexpressibleError("is too large to become a grammar; ask for less at once.")
                shapes = self._document.shapes(schema)
                found = [each for shape in shapes for each in self._shape(shape, path, depth)]
            except InexpressibleError as error:
                raise ModelError(f"The answer's schema at {_shortened(path)} {error}") from error
            if not found and depth > 0 and self.impossible == "$":
                self.impossible = path
            self._known[key] = tuple(dict.fromkeys(found))
        return self._known[key]

    def _shape(self, shape: Shape, path: str, depth: int) -> Language:
        if shape.values is not None:
            return self._values(shape, shape.values)
        kinds = shape.meant
        language: Language = ()
        if "string" in kinds:
            language += self._string(shape)
        if kinds & {"whole", "fraction"}:
            language += _number(shape)
        if "boolean" in kinds:
            language += ('"true"', '"false"')
        if "null" in kinds:
            language += ('"null"',)
        if "array" in kinds and depth:
            language += self._array(shape, path, depth)
        if "object" in kinds and depth:
            language += self._object(shape, path, depth)
        return language

    # Without parts

    def _values(self, shape: Shape, values: Sequence[Any]) -> Language:
        if len(values) > _MOST_VALUES:
            raise InexpressibleError(f"has more than {_MOST_VALUES:,} values; ask for less at once.")
        conditions = replace(shape, values=None)
        fitting = [fits(value, conditions) for value in values]
        if None in fitting:
            raise InexpressibleError("has values beside other conditions; leave out one of the two.")
        kept = [written(value) for value, fit in zip(values, fitting, strict=True) if fit]
        return self.rules.words("word", kept)

    def _string(self, shape: Shape) -> Language:
        length = shape.length
        if length.empty:
            return ()
        if shape.pattern is not None:
            return matches(self.rules, shape.pattern, length.least, length.most)
        known = FORMATS.get(shape.format or "")
        if known is None:
            return text(self.rules, length.least, length.most)
        if not (length.holds(known.shortest) and length.holds(known.longest)):
            raise InexpressibleError(f"has a length beside the format “{shape.format}”; leave it out.")
        return (f"{QUOTE} {self.rules.rule(shape.format or '', (known.content,))} {QUOTE}",)

    # Lists

    def _array(self, shape: Shape, path: str, depth: int) -> Language:
        if shape.is_plain("array"):
            return self._free_array(min(depth, _DEEPEST_FREE))
        if shape.unique and shape.elements.most not in {0, 1}:
            return self._set(shape)
        firsts: list[str] = []
        most = shape.elements.most
        for place, schema in enumerate(shape.prefix[:most]):
            language = self.language(schema, f"{path}[{place}]", depth - 1)
            if not language:
                most = place
                break
            firsts.append(self.rules.term("element", language))
        others = self.language(shape.items, f"{path}[]", depth - 1) if most != len(firsts) else ()
        if not others:
            most = len(firsts)
        count = Span(shape.elements.least, most)
        return () if count.empty else self._list(firsts, others, count)

    def _list(self, firsts: Sequence[str], others: Language, count: Span) -> Language:
        """Each of `firsts` in turn and then any of `others`, as many together as `count` says."""
        tail = ""
        if others:
            other = self.rules.term("element", others)
            if not firsts:
                firsts = [other]
            more = self.rules.rule("more", (f"{_COMMA} {other}",))
            most = None if count.most is None else count.most - len(firsts)
            tail = repeated(more, max(0, count.least - len(firsts)), most)
        for place in range(len(firsts) - 1, -1, -1):
            comma = f"{_COMMA} " if place else ""
            tail = f"{comma}{firsts[place]} {tail}".strip()
            if place >= count.least:
                tail = f"{self.rules.rule('some', (tail,))}?"
        return (f'"[" {tail} "]"',) if tail else ('"[]"',)

    def _set(self, shape: Shape) -> Language:
        """Each of a few values at most once, in their order."""
        values = self._few_values(shape.items)
        if values is None or shape.prefix:
            raise InexpressibleError(
                "has “uniqueItems”, which a grammar can promise of an enum's values only; use a plain list."
            )
        entries = [_Entry(literal(text), needed=False) for text in values]
        span = shape.elements

        def ending(count: int) -> Language:
            return (EMPTY,) if count >= span.least else ()

        return self._enclosed("[", self._picked(entries, ending, span), "]")

    def _few_values(self, schema: Schema) -> list[str] | None:
        """All values there are, as JSON; None if they are not given one by one."""
        found: dict[str, Any] = {}
        for shape in self._document.shapes(schema):
            values = shape.values
            if values is None and shape.meant <= {"null", "boolean"}:
                values = (None, False, True)
            if values is None:
                return None
            conditions = replace(shape, values=None)
            found |= {canonical(value): value for value in values if fits(value, conditions)}
            if any(fits(value, conditions) is None for value in values):
                return None
        return [written(value) for value in found.values()]

    # Objects

    def _object(self, shape: Shape, path: str, depth: int) -> Language:
        if shape.is_plain("object"):
            return self._free_object(min(depth, _DEEPEST_FREE))
        listed = self._listed(shape)
        if listed is None or shape.members.empty:
            return ()
        entries = []
        for name, schema in listed.items():
            language = self.language(schema, f"{path}.{name}", depth - 1)
            needed = name in shape.required
            if language:
                value = self.rules.term("value", language)
                entries.append(_Entry(f"{literal(written(name))} {_COLON} {value}", needed=needed))
            elif needed:
                return ()
        other = self._other_member(shape, list(listed), path, depth)
        span = _needed_span(shape.members, entries, others=other is not None)
        picked = self._picked(entries, lambda count: self._other_members(other, span, count), span)
        return self._enclosed("{", picked, "}")

    def _listed(self, shape: Shape) -> dict[str, Schema] | None:
        """The members that the schema names, in its order; None if one is required and may not be."""
        if shape.patterns and (shape.properties or shape.required or len(shape.patterns) > 1):
            raise InexpressibleError("has “patternProperties” beside other properties; name them instead.")
        listed = dict(shape.properties)
        listed |= {name: shape.additional for name in shape.required if name not in listed}
        names = self._document.shapes(shape.names)
        if all(each.values is not None for each in names):
            enumerated = [name for each in names for name in each.values or () if isinstance(name, str)]
            listed |= {name: shape.additional for name in enumerated if name not in listed}
        allowed = {name: [fits(name, each) for each in names] for name in listed}
        if any(True not in found and None in found for found in allowed.values()):
            raise InexpressibleError("has “propertyNames” beside properties; leave it out.")
        kept = {name: schema for name, schema in listed.items() if True in allowed[name]}
        return kept if kept.keys() >= set(shape.required) else None

    def _other_member(self, shape: Shape, listed: Sequence[str], path: str, depth: int) -> str | None:
        """A member that the schema does not name, when there may be one."""
        if shape.patterns:
            ((pattern, schema),) = shape.patterns.items()
            keys = matches(self.rules, pattern, 0, None)
        elif shape.names is not True:
            schema = False if listed else shape.additional
            keys = (
                () if listed else self.language({"allOf": [{"type": "string"}, shape.names]}, path, depth)
            )
        else:
            described = not isinstance(shape.additional, bool)
            wanted = not shape.closed and (not listed or shape.members.least > len(listed))
            schema = shape.additional if described or wanted else False
            keys = key_other_than(self.rules, listed) if schema is not False else ()
        language = self.language(schema, f"{path}.*", depth - 1)
        if not keys or not language:
            return None
        key, value = self.rules.term("name", keys), self.rules.term("value", language)
        return self.rules.rule("member", (f"{key} {_COLON} {value}",))

    def _other_members(self, member: str | None, span: Span, count: int) -> Language:
        """What may follow `count` members that were named."""
        missing = max(0, span.least - count)
        left = None if span.most is None else span.most - count
        if member is None or left == 0:
            return () if missing else (EMPTY,)
        if missing > 1:
            # Two may turn out to have the same name, and to be only one.
            return ()
        more = self.rules.rule("more", (f"{_COMMA} {member}",))
        if count:
            return (repeated(more, missing, left),)
        some = f"{member} {repeated(more, 0, None if left is None else left - 1)}"
        return (some,) if missing else (some, EMPTY)

    def _picked(self, entries: "Sequence[_Entry]", ending: _Ending, span: Span) -> Language:
        """Those entries that are needed, and any others, in their order, with commas; then an ending.

        Begins with the last: what may follow, for each number of entries that stand before.
        """
        top = max(1, min(len(entries), max(span.least, span.most or 0)))
        if len(entries) * top > _MOST_STATES:
            raise InexpressibleError("counts too many members; ask for less at once.")
        after = [ending(count) for count in range(top + 1)]
        for place, entry in reversed(list(enumerate(entries))):
            before: list[Language] = [()] * (top + 1)
            for count in range(min(place, top) + 1):
                follows = after[min(count + 1, top)] if span.most is None or count < span.most else ()
                taken = self._joined([_COMMA] if count else [], entry.text, follows)
                skipped = () if entry.needed else self._short(after[count])
                before[count] = tuple(dict.fromkeys(taken + skipped))
            after = before
        return after[0]

    def _joined(self, comma: list[str], entry: str, follows: Language) -> Language:
        if not follows:
            return ()
        rest = [] if follows == (EMPTY,) else [self.rules.term("rest", follows)]
        return (" ".join([*comma, entry, *rest]),)

    def _short(self, language: Language) -> Language:
        return (self.rules.rule("rest", language),) if len(language) > 1 else language

    def _enclosed(self, begin: str, content: Language, end: str) -> Language:
        if not content or content == (EMPTY,):
            return (literal(begin + end),) if content else ()
        return (f"{literal(begin)} {self.rules.term('content', content)} {literal(end)}",)

    # Anything

    def _free_array(self, levels: int) -> Language:
        value = self.rules.term("anything", self._free_value(levels - 1))
        return ('"[]"', f'"[" {value} ({_COMMA} {value})* "]"')

    def _free_object(self, levels: int) -> Language:
        key = self.rules.term("name", text(self.rules, 1, 64))
        value = self.rules.term("anything", self._free_value(levels - 1))
        member = self.rules.rule("member", (f"{key} {_COLON} {value}",))
        return ('"{}"', f'"{{" {member} ({_COMMA} {member})* "}}"')

    def _free_value(self, levels: int) -> Language:
        return self._shape(Shape(), "", levels)


@dataclass(frozen=True)
class _Entry:
    """Something that can be picked."""

    text: str
    needed: bool


def _needed_span(span: Span, entries: Sequence[_Entry], *, others: bool) -> Span:
    """The span without what is fulfilled anyway, so that less has to be counted."""
    least = 0 if sum(entry.needed for entry in entries) >= span.least else span.least
    always = span.most is not None and span.most >= len(entries) and not others
    return Span(least, None if always else span.most)


def _number(shape: Shape) -> Language:
    whole = "fraction" not in shape.kinds
    if shape.step == 1:
        return integers(shape.bounds)
    if shape.step is not None:
        return multiples(shape.bounds, shape.step, whole=whole)
    return integers(shape.bounds) if whole else numbers(shape.bounds)


def _shortened(path: str) -> str:
    return path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}…"
