"""Decide which lorebook entries enter the prompt, and record the reason for each entry.

The algorithm is SillyTavern's, with V3's decorators and the settings of books. It is a pure function:
random choices depend on a seed, and the chat's lore state is an argument and a result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from rolellm_agents.cards.lore.candidate import Candidate, budget_order, candidates, exclusion_reason
from rolellm_agents.cards.lore.decorators import UiPrompt
from rolellm_agents.cards.lore.groups import choose_in_groups
from rolellm_agents.cards.lore.lorebook import Lorebook, LoreEntry, Position, Role
from rolellm_agents.cards.lore.matching import KeyMatcher, MatchResult
from rolellm_agents.cards.lore.scan import Haystack, Window
from rolellm_agents.cards.lore.scene import LoreScene, LoreSettings
from rolellm_agents.cards.lore.state import NO_STATE, LoreState, advance, record
from rolellm_agents.cards.lore.trace import ACTIVE, LoreTrace, is_closer

MOST_ROUNDS = 30
"""The most rounds of recursion. Each round checks every entry, and a book can chain all its entries."""


@dataclass(frozen=True)
class FiredLore:
    """An active entry."""

    book: str
    entry: LoreEntry
    content: str
    """The content without decorators, with macros replaced."""
    position: Position
    depth: int
    """For `at_depth`: the number of messages after the entry."""
    role: Role
    tokens: int
    expendable: bool = False
    """Whether to drop the entry first when the prompt is too long."""


@dataclass(frozen=True)
class Activation:
    """The result of an activation."""

    fired: tuple[FiredLore, ...]
    """The active entries with content, in the order of the prompt."""
    traces: tuple[LoreTrace, ...]
    """One for each entry, in the books' order."""
    state: LoreState
    """The chat's new lore state; discarded for a preview."""
    budget: int
    """Tokens for all lore."""
    spent: int
    """Tokens of active entries; may exceed the budget by entries that ignore it."""
    disabled_prompts: frozenset[UiPrompt] = frozenset()
    """User prompts that active entries disable."""


def estimate_tokens(text: str) -> int:
    """Estimate tokens at four characters each."""
    return (len(text) + 3) // 4


_DEFAULTS = LoreSettings()


def activate(
    books: Sequence[Lorebook],
    scene: LoreScene,
    settings: LoreSettings = _DEFAULTS,
    state: LoreState = NO_STATE,
    count_tokens: Callable[[str], int] = estimate_tokens,
) -> Activation:
    """Find the entries that are active in a scene.

    Without `settings.evenly`, the budget serves the books in their order. The settings are defaults for
    entries and books; the state is not modified.
    """
    return _Activation(books, scene, settings, state, count_tokens).run()


_Kind = Literal["chat", "further_back", "recursion"]


class _Activation:
    """One activation, round by round."""

    def __init__(
        self,
        books: Sequence[Lorebook],
        scene: LoreScene,
        settings: LoreSettings,
        state: LoreState,
        count_tokens: Callable[[str], int],
    ) -> None:
        self._scene = scene
        self._settings = settings
        self._count_tokens = count_tokens
        self._all = candidates(books, scene, settings)
        entries = {candidate.key: candidate.entry for candidate in self._all}
        self._state = advance(state, entries, len(scene.messages))
        self._traces: dict[Candidate, LoreTrace] = {}
        self._active: dict[Candidate, FiredLore] = {}
        self._kind: _Kind = "chat"
        self._rounds = 1
        self._recursions = 0
        self._pending = self._in_budget_order(self._not_excluded())
        self._haystack = self._make_haystack()
        self._matcher = KeyMatcher(self._haystack)
        self._budget = _Budget(settings.budget)
        self._depth = settings.scan_depth
        levels = {c.entry.delay_until_recursion for c in self._pending if "lore" in c.reads}
        self._levels = sorted(level for level in levels if level > 0)
        self._level = self._levels.pop(0) if self._levels else 0

    def run(self) -> Activation:
        """Run all rounds."""
        while self._next_round(self._settle(self._candidates_by_keys())):
            pass
        total = len(self._scene.messages)
        active = [(c.key, c.entry, c.decorators) for c in self._active]
        in_order = [self._active[c] for c in self._all if c in self._active]
        in_order.sort(key=lambda fired: fired.entry.order)
        return Activation(
            fired=tuple(fired for fired in in_order if fired.content.strip()),
            traces=tuple(self._traces[c] for c in self._all),
            state=record(self._state, active, total),
            budget=self._budget.total,
            spent=self._budget.spent,
            disabled_prompts=frozenset(
                c.decorators.disabled_prompt for c in self._active if c.decorators.disabled_prompt
            ),
        )

    def _not_excluded(self) -> list[Candidate]:
        allowed = []
        for candidate in self._all:
            why = exclusion_reason(candidate, self._scene, self._state)
            if why is None:
                allowed.append(candidate)
            else:
                self._note(candidate, MatchResult(why))
        return allowed

    def _in_budget_order(self, waiting: list[Candidate]) -> list[Candidate]:
        """Sort entries by the order in which the budget serves them."""
        places = {label: place for place, label in enumerate(dict.fromkeys(c.label for c in self._all))}

        def turn(candidate: Candidate) -> tuple[float, ...]:
            sticky, *others = budget_order(candidate, self._settings, sticky=self._is_sticky(candidate))
            return (sticky, 0 if self._settings.evenly else places[candidate.label], *others)

        return sorted(waiting, key=turn)

    def _make_haystack(self) -> Haystack:
        heads = frozenset(key.head for candidate in self._pending for key in candidate.all_keys)
        haystack = Haystack(self._scene.messages, heads, names=self._settings.include_names)
        for source, text in self._scene.sources.items():
            haystack.add(source, text)
        return haystack

    def _candidates_by_keys(self) -> dict[Candidate, MatchResult]:
        """The entries of this round that match; groups, probability and the budget decide next."""
        found: dict[Candidate, MatchResult] = {}
        for candidate in self._pending:
            verdict = self._verdict(candidate)
            if verdict.why in ACTIVE:
                found[candidate] = verdict
            else:
                self._note(candidate, verdict)
        return found

    def _verdict(self, candidate: Candidate) -> MatchResult:
        sticky = self._is_sticky(candidate)
        delayed = candidate.entry.delay_until_recursion
        if not sticky and delayed > 0 and (self._kind != "recursion" or delayed > self._level):
            return MatchResult("recursion_only")
        if not sticky and self._kind == "recursion" and not candidate.reads:
            return MatchResult("not_by_recursion")
        if candidate.decorators.activate:
            return MatchResult("activate")
        if candidate.key in self._state.kept:
            return MatchResult("kept")
        return (
            MatchResult("sticky") if sticky else self._matcher.verdict(candidate, self._window(candidate))
        )

    def _window(self, candidate: Candidate) -> Window:
        depth = self._depth if candidate.scan_depth is None else candidate.scan_depth
        total = len(self._scene.messages)
        # Outside of recursion only the chat is scanned, not the content of other entries.
        lore = candidate.reads if self._kind == "recursion" else frozenset()
        return Window(max(0, total - max(0, depth)), lore.union(candidate.entry.match_sources))

    def _settle(self, found: dict[Candidate, MatchResult]) -> list[Candidate]:
        """Apply groups, probabilities and the budget; return the newly active entries."""
        chosen = choose_in_groups(
            list(found),
            {group for c in self._active for group in c.entry.groups},
            is_sticky=self._is_sticky,
            score=lambda candidate: self._matcher.score(candidate, self._window(candidate)),
            scoring=self._settings.group_scoring,
            seed=str(self._scene.seed),
        )
        settled = set(chosen)
        for candidate in found.keys() - settled:
            self._note(candidate, found[candidate]._replace(why="group"))
        for candidate in chosen:
            self._admit(candidate, found[candidate])
        self._pending = [candidate for candidate in self._pending if candidate not in settled]
        return [candidate for candidate in chosen if candidate in self._active]

    def _admit(self, candidate: Candidate, verdict: MatchResult) -> None:
        if not self._by_chance(candidate):
            self._note(candidate, verdict._replace(why="probability"))
            return
        content = self._scene.substitute(candidate.body)
        tokens = self._count_tokens(content)
        if not self._budget.take(candidate, tokens):
            self._note(candidate, verdict._replace(why="budget"), tokens)
            return
        self._note(candidate, verdict, tokens)
        position, depth = _place(candidate, len(self._scene.messages))
        self._active[candidate] = FiredLore(
            book=candidate.label,
            entry=candidate.entry,
            content=content,
            position=position,
            depth=depth,
            role=candidate.decorators.role or candidate.entry.role,
            tokens=tokens,
            expendable=candidate.decorators.expendable,
        )

    def _by_chance(self, candidate: Candidate) -> bool:
        if self._is_sticky(candidate) or candidate.probability >= 100:
            return True
        # Each entry has its own random generator, independent of other entries and rounds.
        seed = f"{self._scene.seed}:{candidate.key}".encode("utf-8", "surrogatepass")
        draw = Random(seed)  # noqa: S311
        return draw.random() * 100 < candidate.probability

    def _next_round(self, activated: Sequence[Candidate]) -> bool:
        """Prepare the next round; False when there is none."""
        limit = self._settings.max_recursion_steps
        self._rounds += 1
        if self._budget.full or 0 < limit < self._rounds:
            return False
        if self._feed(activated):
            return self._recurse()
        if not limit and len(self._active) < self._settings.min_activations and self._look_further():
            self._kind = "further_back"
            return True
        if self._levels:
            self._level = self._levels.pop(0)
            return self._recurse()
        return False

    def _feed(self, activated: Sequence[Candidate]) -> bool:
        """Add the content of new entries to the scanned texts; False when there is none."""
        feeding = [(candidate, kind) for candidate in activated if (kind := candidate.feeds)]
        scanned = self._scene.substitute_scanned
        for candidate, kind in feeding:
            self._haystack.add(
                kind, scanned(candidate.body) if scanned else self._active[candidate].content
            )
        return bool(feeding)

    def _recurse(self) -> bool:
        self._kind = "recursion"
        self._recursions += 1
        return self._recursions <= MOST_ROUNDS

    def _look_further(self) -> bool:
        """Extend the scan to the next older message that may have a key; False when there is none."""
        total, most = len(self._scene.messages), self._settings.min_activations_depth_max
        while self._depth < (min(total, most) if most > 0 else total):
            self._depth += 1
            if self._haystack.may_match(total - self._depth):
                return True
        return False

    def _is_sticky(self, candidate: Candidate) -> bool:
        return candidate.key in self._state.sticky

    def _note(self, candidate: Candidate, verdict: MatchResult, tokens: int = 0) -> None:
        """Record the reason of an entry; one that is closer to being active replaces an earlier one."""
        before = self._traces.get(candidate)
        if before is None or is_closer(verdict.why, before.why):
            self._traces[candidate] = LoreTrace(
                book=candidate.label,
                uid=candidate.entry.uid,
                name=candidate.entry.name,
                active=verdict.why in ACTIVE,
                why=verdict.why,
                key=verdict.key,
                message=verdict.message,
                round=self._recursions if self._kind == "recursion" else 0,
                tokens=tokens,
            )


class _Budget:
    """The tokens for lore, in total and for each book."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.spent = 0
        self.full = False
        self._books: dict[str, int] = {}
        self._full_books: set[str] = set()

    def take(self, candidate: Candidate, tokens: int) -> bool:
        """Spend tokens on an entry if enough are left; the first failure ends the budget."""
        label, limit = candidate.label, candidate.book.token_budget or 0
        spent = self._books.get(label, 0) + tokens
        if not candidate.entry.ignore_budget:
            if label in self._full_books or 0 < limit < spent:
                self._full_books.add(label)
                return False
            self.full = self.full or self.spent + tokens >= self.total
            if self.full:
                return False
        self._books[label] = spent
        self.spent += tokens
        return True


def _place(candidate: Candidate, messages: int) -> tuple[Position, int]:
    """Position and depth of an entry in the prompt; decorators override the entry."""
    entry, decorators = candidate.entry, candidate.decorators
    if decorators.position is not None:
        return decorators.position, entry.depth
    depth = decorators.depth
    if depth is None and decorators.reverse_depth is not None:
        depth = messages - decorators.reverse_depth
    return (entry.position, entry.depth) if depth is None else ("at_depth", min(max(depth, 0), messages))
