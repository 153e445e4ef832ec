"""The inputs of an activation: settings and scene."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import floor
from typing import Literal

from rolellm_agents.cards.lore.lorebook import MatchSource
from rolellm_agents.cards.lore.scan import ScanMessage


@dataclass(frozen=True)
class LoreSettings:
    """SillyTavern's global settings with its defaults. Entries and books may override them."""

    scan_depth: int = 2
    """The number of newest messages that are scanned for keys."""
    budget_percent: float = 25
    """The share of the context for all lore, in per cent."""
    budget_cap: int = 0
    """The most tokens for all lore; 0 for no cap."""
    context_tokens: int = 4096
    recursive: bool = False
    """Whether the content of entries activates other entries."""
    case_sensitive: bool = False
    whole_words: bool = False
    include_names: bool = True
    """Whether the names of speakers are scanned too."""
    group_scoring: bool = False
    """Whether groups choose only among the entries with the most keys found."""
    min_activations: int = 0
    """Scan older messages until so many entries are active."""
    min_activations_depth_max: int = 0
    """The most messages that are scanned for `min_activations`; 0 for all."""
    max_recursion_steps: int = 0
    """The most rounds, including that of the chat; 0 for no limit. A limit disables `min_activations`."""
    evenly: bool = True
    """Whether all books share the budget as one; otherwise it serves book after book."""
    compat: Literal["docs", "st-1.12.6"] = "docs"
    """The order in which the budget serves entries: constant entries first and then by priority, as in
    SillyTavern's manual and V3; or by order alone, as in SillyTavern's code."""

    @property
    def budget(self) -> int:
        """Tokens for all lore, at least 1."""
        budget = floor(self.budget_percent * self.context_tokens / 100 + 0.5) or 1
        return min(budget, self.budget_cap) if self.budget_cap > 0 else budget


def as_it_is(text: str) -> str:
    """Return the text unchanged; the default of `substitute`."""
    return text


@dataclass(frozen=True)
class LoreScene:
    """The texts that are scanned, and the participants."""

    messages: Sequence[ScanMessage]
    """Oldest first."""
    character: str = ""
    character_tags: tuple[str, ...] = ()
    trigger: str = "normal"
    """The kind of generation."""
    sources: Mapping[MatchSource, str] = field(default_factory=dict)
    """Texts beside the chat, for entries that scan them."""
    greeting: int | None = None
    """The number of the chat's greeting; None is unknown and meets every condition."""
    user_icon: str = ""
    seed: int = 0
    """The seed of probabilities and groups."""
    substitute: Callable[[str], str] = as_it_is
    """Replaces macros in keys and content."""
    substitute_scanned: Callable[[str], str] | None = None
    """Replaces macros in content that other entries scan; `substitute` when None."""

    @cached_property
    def replies(self) -> int:
        """The number of assistant messages, including the greeting."""
        return sum(message.role == "assistant" for message in self.messages)
