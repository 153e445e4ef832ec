"""Lorebook entries in one scene: their keys, scanned texts, and reasons that exclude them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from rolellm_agents.cards.lore.decorators import Decorators, parse_decorators
from rolellm_agents.cards.lore.keys import LoreKey, Matching, parse_key
from rolellm_agents.cards.lore.lorebook import Lorebook, LoreEntry
from rolellm_agents.cards.lore.scan import Kind
from rolellm_agents.cards.lore.scene import LoreScene, LoreSettings
from rolellm_agents.cards.lore.state import LoreState
from rolellm_agents.cards.lore.trace import Why

_ALL_LORE: frozenset[Kind] = frozenset(("lore", "always_lore"))
_ALWAYS_LORE: frozenset[Kind] = frozenset(("always_lore",))
_NO_LORE: frozenset[Kind] = frozenset()


@dataclass(slots=True, eq=False)
class Candidate:
    """One entry of one book, in one scene."""

    key: str
    """The entry's key in a `LoreState`."""
    label: str
    """The book's name, made unique."""
    book: Lorebook
    entry: LoreEntry
    decorators: Decorators
    body: str
    """The content without decorators, with macros not replaced."""
    keys: tuple[LoreKey, ...]
    secondary: tuple[LoreKey, ...]
    additional: tuple[tuple[LoreKey, ...], ...]
    """At least one key of each must be found."""
    excluded: tuple[LoreKey, ...]
    """None of these may be found."""
    excluded_together: tuple[LoreKey, ...]
    """Not all of these may be found."""
    matching: Matching
    recursive: bool
    """Whether the entries of the book activate each other."""

    @property
    def all_keys(self) -> Iterator[LoreKey]:
        """All keys that are searched for the entry."""
        return chain(self.keys, self.secondary, *self.additional, self.excluded, self.excluded_together)

    @property
    def scan_depth(self) -> int | None:
        """The number of scanned messages; None for the setting."""
        for depth in (self.decorators.scan_depth, self.entry.scan_depth):
            if depth is not None:
                return depth
        return self.book.scan_depth

    @property
    def reads(self) -> frozenset[Kind]:
        """The kinds of lore content that the entry scans."""
        if (
            self.entry.exclude_recursion
            or self.decorators.no_recursive_search
            or self.book.recursive is False
        ):
            return _NO_LORE
        return _ALL_LORE if self.recursive else _ALWAYS_LORE

    @property
    def feeds(self) -> Kind | None:
        """The kind under which other entries scan the entry's content; None for not at all."""
        if self.decorators.recursive is not None:
            return "always_lore" if self.decorators.recursive else None
        return "lore" if self.recursive and not self.entry.prevent_recursion else None

    @property
    def probability(self) -> float:
        """The probability in per cent."""
        chance = self.decorators.probability
        return self.entry.probability if chance is None else chance


def candidates(books: Sequence[Lorebook], scene: LoreScene, settings: LoreSettings) -> list[Candidate]:
    """All entries of all books, in their order."""
    return [
        _candidate(label, book, entry, scene.substitute, settings)
        for label, book in zip(_labels(books), books, strict=True)
        for entry in book.entries
    ]


def budget_order(candidate: Candidate, settings: LoreSettings, *, sticky: bool) -> tuple[float, ...]:
    """A sort key: the budget serves smaller ones first."""
    entry, decorators = candidate.entry, candidate.decorators
    importance, constant = entry.order, False
    if settings.compat == "docs":
        importance = entry.order if entry.priority is None else entry.priority
        constant = entry.constant
    if decorators.priority is not None:
        importance = decorators.priority
    return not sticky, decorators.expendable, not constant, -importance


def exclusion_reason(candidate: Candidate, scene: LoreScene, state: LoreState) -> Why | None:
    """Why an entry cannot be active, whatever the texts contain; None when it can."""
    return next(_reasons(candidate, scene, state), None)


def _candidate(
    label: str, book: Lorebook, entry: LoreEntry, substitute: Callable[[str], str], settings: LoreSettings
) -> Candidate:
    decorators, body = parse_decorators(entry.content)
    case = settings.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
    words = settings.whole_words if entry.whole_words is None else entry.whole_words
    return Candidate(
        key=f"{label}.{entry.uid}",
        label=label,
        book=book,
        entry=entry,
        decorators=decorators,
        body=body,
        keys=_read_keys(entry.keys, substitute),
        secondary=_read_keys(entry.secondary_keys, substitute),
        additional=tuple(_read_keys(keys, substitute) for keys in decorators.additional_keys),
        excluded=_read_keys(decorators.exclude_keys, substitute),
        excluded_together=_read_keys(decorators.exclude_keys_all, substitute),
        matching=Matching(case, words if decorators.whole_words is None else decorators.whole_words),
        recursive=settings.recursive if book.recursive is None else book.recursive,
    )


def _read_keys(keys: Iterable[str], substitute: Callable[[str], str]) -> tuple[LoreKey, ...]:
    return tuple(key for text in keys if (key := parse_key(substitute(text))))


def _labels(books: Sequence[Lorebook]) -> list[str]:
    """The names of the books, with a number for repeated names."""
    found: list[str] = []
    for book in books:
        label, number = book.name, 1
        while label in found:
            number += 1
            label = f"{book.name}#{number}"
        found.append(label)
    return found


def _reasons(candidate: Candidate, scene: LoreScene, state: LoreState) -> Iterator[Why]:
    entry, decorators = candidate.entry, candidate.decorators
    if not entry.enabled:
        yield "disabled"
    if not _is_for(entry, scene):
        yield "filtered"
    if entry.triggers and scene.trigger not in entry.triggers:
        yield "trigger"
    if len(scene.messages) < entry.delay:
        yield "delay"
    if candidate.key in state.cooldown and candidate.key not in state.sticky:
        yield "cooldown"
    if decorators.activate:
        return
    if decorators.dont_activate:
        yield "dont_activate"
    if candidate.key in state.barred:
        yield "matched_before"
    if candidate.key not in state.kept and not _meets_conditions(decorators, scene):
        yield "condition"


def _is_for(entry: LoreEntry, scene: LoreScene) -> bool:
    if not entry.character_names and not entry.character_tags:
        return True
    named = scene.character in entry.character_names or any(
        tag in entry.character_tags for tag in scene.character_tags
    )
    return named != entry.character_exclude


def _meets_conditions(decorators: Decorators, scene: LoreScene) -> bool:
    return (
        (decorators.only_after is None or scene.replies >= decorators.only_after)
        and (decorators.only_every is None or scene.replies % decorators.only_every == 0)
        and (None in (decorators.greeting, scene.greeting) or decorators.greeting == scene.greeting)
        and decorators.user_icon in (None, scene.user_icon)
    )
