"""Match the keys of entries."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rolellm_agents.cards.lore.candidate import Candidate
from rolellm_agents.cards.lore.keys import LoreKey
from rolellm_agents.cards.lore.scan import Haystack, KeyMatch, Window
from rolellm_agents.cards.lore.trace import Why


class MatchResult(NamedTuple):
    """Why an entry matches or does not match."""

    why: Why
    key: str = ""
    message: int | None = None


class KeyMatcher:
    """Matches the keys of entries."""

    def __init__(self, haystack: Haystack) -> None:
        self._haystack = haystack

    def verdict(self, candidate: Candidate, window: Window) -> MatchResult:
        """Whether an entry matches by its keys or is constant."""
        if not self._conditions_hold(candidate, window):
            return MatchResult("condition_keys")
        if candidate.entry.constant:
            return MatchResult("constant")
        found = next(self._found(candidate.keys, candidate, window), None)
        if found is None:
            faults = self._haystack.faults
            faulty = next((key for key in candidate.keys if key.text in faults), None)
            return MatchResult(faults[faulty.text], faulty.text) if faulty else MatchResult("no_key")
        why: Why = "key" if self._secondary_holds(candidate, window) else "secondary_keys"
        return MatchResult(why, found.key.text, found.message)

    def score(self, candidate: Candidate, window: Window) -> int:
        """The number of keys found; secondary keys count if the entry's logic requires them."""
        primary = self._count(candidate.keys, candidate, window)
        secondary = self._count(candidate.secondary, candidate, window)
        if candidate.entry.logic == "and_any":
            return primary + secondary
        complete = candidate.entry.logic == "and_all" and secondary == len(candidate.secondary)
        return primary + secondary if complete else primary

    def _conditions_hold(self, candidate: Candidate, window: Window) -> bool:
        together = candidate.excluded_together
        return (
            all(any(self._found(keys, candidate, window)) for keys in candidate.additional)
            and not any(self._found(candidate.excluded, candidate, window))
            and not (together and self._count(together, candidate, window) == len(together))
        )

    def _secondary_holds(self, candidate: Candidate, window: Window) -> bool:
        keys, logic = candidate.secondary, candidate.entry.logic
        if not keys:
            return True
        if logic in ("and_any", "not_any"):
            return any(self._found(keys, candidate, window)) == (logic == "and_any")
        return (self._count(keys, candidate, window) == len(keys)) == (logic == "and_all")

    def _count(self, keys: Iterable[LoreKey], candidate: Candidate, window: Window) -> int:
        return sum(1 for _ in self._found(keys, candidate, window))

    def _found(self, keys: Iterable[LoreKey], candidate: Candidate, window: Window) -> Iterator[KeyMatch]:
        for key in keys:
            found = self._haystack.find(key, window, candidate.matching)
            if found:
                yield found
