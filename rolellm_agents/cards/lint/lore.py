"""Rules for a card's lorebook: entries, keys and decorators."""

import re
from collections import Counter
from collections.abc import Callable
from itertools import zip_longest

from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import json_path
from rolellm_agents.cards.lint.view import Lore, Spots, View, listed
from rolellm_agents.cards.lore.decorators import NO_DECORATORS, parse_decorators
from rolellm_agents.cards.lore.keys import PatternSearch, parse_key
from rolellm_agents.cards.values import flag, mapping, text

_SILLYTAVERN = {"activate", "dont_activate"}
_OPEN = {"instruct_scan_depth", "instruct_depth", "reverse_instruct_depth", "position"}
"""Decorators whose values are not checked: those of text completion, and programs' own places."""
_JUDGED = {
    *(*_SILLYTAVERN, "activate_only_after", "activate_only_every", "keep_activate_after_match"),
    *("dont_activate_after_match", "is_greeting", "is_user_icon", "scan_depth", "additional_keys"),
    *("exclude_keys", "depth", "reverse_depth", "role", "ignore_on_max_context", "disable_ui_prompt"),
}
_V3 = _OPEN | _JUDGED
_NAME = re.compile(r"@@@?([a-z_]+)")

# Tokens of a JavaScript expression: an escape, a set, a bracket, an unbounded repetition, or another sign.
_PARTS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?|[()]|[*+]|\{\d+,\}|.", re.DOTALL)


def unreadable_book(view: View) -> Spots:
    """A lorebook that cannot be read."""
    try:
        _ = view.card.lorebook
    except CardError as error:
        yield json_path(view.root, "character_book"), f"cannot be read: {error}"


def unknown_decorators(view: View) -> Spots:
    """Decorators outside V3 without a fallback."""
    for one in view.lore:
        for line, below in zip_longest(one.head, one.head[1:], fillvalue=""):
            if _name(line) not in _V3 and not below.startswith("@@@"):
                yield (
                    f"{one.where}.content",
                    f"has {listed([line])}, which is not in V3; add a fallback below it.",
                )


def decorator_values(view: View) -> Spots:
    """Decorators with an invalid value."""
    for one in view.lore:
        for line in one.head:
            own = f"@@{line.lstrip('@')}"
            if _name(line) in _JUDGED and parse_decorators(own)[0] == NO_DECORATORS:
                yield (
                    f"{one.where}.content",
                    f"has {listed([line])}, whose value is invalid, so it is ignored.",
                )


def late_decorators(view: View) -> Spots:
    """Decorators below the first line of the text."""
    for one in view.lore:
        lines = (line.strip() for line in one.body.split("\n"))
        if late := [line for line in lines if _name(line) in _V3]:
            yield (
                f"{one.where}.content",
                f"has {listed(late)} after the start of the text; move it to the top.",
            )


def foreign_decorators(view: View) -> Spots:
    """Decorators that SillyTavern does not know."""
    for one in view.lore:
        if unknown := [line for line in one.head if _name(line) not in _SILLYTAVERN]:
            yield (
                f"{one.where}.content",
                f"has {listed(unknown)}, which SillyTavern removes without using it.",
            )


def bad_keys(view: View) -> Spots:
    """Regular expressions that do not compile."""
    bad = _bad(view)
    for one in view.lore:
        for where, key in one.keys:
            if key in bad:
                yield (
                    where,
                    f"has {listed([key])}, which is not a valid regular expression and never matches.",
                )


def slow_keys(view: View) -> Spots:
    """Regular expressions that may backtrack exponentially."""
    for one in view.lore:
        for where, words in one.keys:
            key = parse_key(words)
            if key is not None and key.source is not None and _is_nested(key.source):
                yield where, f"has {listed([words])}, a nested repetition that can make programs hang."


def plain_regex(view: View) -> Spots:
    """Plain keys of entries that claim to use regular expressions."""
    for one in view.lore if view.card.spec == "v3" else ():
        keys = [key for key in one.entry.keys if (found := parse_key(key)) and found.source is None]
        if one.entry.use_regex and keys:
            yield (
                f"{one.where}.use_regex",
                f"is true, but {listed(keys)} is plain text: write /…/, or false.",
            )


def no_keys(view: View) -> Spots:
    """Enabled entries without keys that are never active."""
    for one in view.lore:
        # SillyTavern retrieves vectorized entries by meaning.
        by_meaning = flag(mapping(one.entry.raw.get("extensions")).get("vectorized"))
        always = one.entry.constant or one.decorators.activate or by_meaning
        if one.entry.enabled and not always and not any(map(parse_key, one.entry.keys)):
            yield f"{one.where}.keys", "is empty, so the entry never fires; add keys, or make it constant."


def never_active(view: View) -> Spots:
    """Entries that have keys but can never be active."""
    bad = _bad(view)
    reasons: dict[str, Callable[[Lore], bool]] = {
        "its probability is 0": lambda one: _chance(one) <= 0,
        "@@dont_activate forbids it": lambda one: one.decorators.dont_activate,
        "only other entries may activate it, but they are not allowed to": lambda one: (
            one.entry.delay_until_recursion > 0 and one.entry.exclude_recursion
        ),
        "the greeting that @@is_greeting names does not exist": lambda one: (
            (one.decorators.greeting or 0) >= len(view.card.greetings)
        ),
        "none of its keys is a valid expression": lambda one: (
            bool(one.entry.keys) and not one.entry.constant and bad.issuperset(one.entry.keys)
        ),
    }
    for one in view.lore:
        meant = one.entry.enabled and not one.decorators.activate
        if why := [reason for reason, holds in reasons.items() if meant and holds(one)]:
            yield one.where, f"never fires: {' and '.join(why)}."


def same_ids(view: View) -> Spots:
    """Entries with the same id."""
    first: dict[str, str] = {}
    for one in view.lore:
        known = text(one.entry.raw.get("id"))
        if known and first.setdefault(known, one.where) != one.where:
            yield f"{one.where}.id", f"is {listed([known])}, like that of {first[known]}; one may get lost."


def same_orders(view: View) -> Spots:
    """Entries that all have the same order."""
    orders = Counter(one.entry.order for one in view.lore if one.entry.enabled)
    if len(orders) == 1 and orders.total() > 1:
        where = json_path(json_path(view.root, "character_book"), "entries")
        yield (
            where,
            "all have the same insertion_order, so programs may order them differently; give them "
            "different numbers.",
        )


def _name(line: str) -> str:
    found = _NAME.match(line)
    return found[1] if found else ""


def _chance(one: Lore) -> float:
    return one.entry.probability if one.decorators.probability is None else one.decorators.probability


def _bad(view: View) -> frozenset[str]:
    search = PatternSearch()
    for words in dict.fromkeys(words for one in view.lore for _, words in one.keys):
        key = parse_key(words)
        if key is not None and key.source is not None:
            search.search(key, str)
    return frozenset(words for words, fault in search.faults.items() if fault == "bad_regex")


def _is_nested(source: str) -> bool:
    """Whether a group with an unbounded repetition is itself repeated, as in `(a+)+`."""
    open_groups: list[bool] = [False]
    closed = False
    for part in _PARTS.findall(source):
        endless = part in "*+" or (part.startswith("{") and len(part) > 1)
        if endless and closed:
            return True
        closed = False
        if endless:
            open_groups[-1] = True
        elif part == "(":
            open_groups.append(False)
        elif part == ")" and len(open_groups) > 1:
            closed = open_groups.pop()
            open_groups[-1] = open_groups[-1] or closed
    return False
