"""What a lorebook's activation is told: the settings, and the scene it is for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import floor
from typing import Literal

from rolellm_agents.cards.lore.lorebook import MatchSource
from rolellm_agents.cards.lore.scan import ScanMessage


@dataclass(frozen=True)
class LoreSettings:
    """SillyTavern's global settings, with its defaults. Entries and books may say otherwise."""

    scan_depth: int = 2
    """Messages that are looked through for keys, from the newest."""
    budget_percent: float = 25
    """Of the context, for all lore."""
    budget_cap: int = 0
    """Tokens at most for all lore; 0 is no cap."""
    context_tokens: int = 4096
    recursive: bool = False
    """Whether entries' content activates other entries."""
    case_sensitive: bool = False
    whole_words: bool = False
    include_names: bool = True
    """Whether speakers' names are looked through too."""
    group_scoring: bool = False
    """Whether groups choose among those entries of which the most keys were found."""
    min_activations: int = 0
    """Look further back until so many entries are active."""
    min_activations_depth_max: int = 0
    """Messages that are looked through for that at most; 0 is all."""
    max_recursion_steps: int = 0
    """Rounds at most, that of the chat counted; 0 is no limit. With a limit, `min_activations` counts for
    nothing."""
    evenly: bool = True
    """Whether all books share the budget as if they were one; else they are served in turn."""
    compat: Literal["docs", "st-1.12.6"] = "docs"
    """Whom the budget serves first: constant entries and then by priority, as SillyTavern's manual and V3
    have it, or by order alone, as its code does."""

    @property
    def budget(self) -> int:
        """Tokens for all lore, at least 1."""
        budget = floor(self.budget_percent * self.context_tokens / 100 + 0.5) or 1
        return min(budget, self.budget_cap) if self.budget_cap > 0 else budget


def as_it_is(text: str) -> str:
    """No macros."""
    return text


@dataclass(frozen=True)
class LoreScene:
    """What is looked through, and who is there."""

    messages: Sequence[ScanMessage]
    """Oldest first."""
    character: str = ""
    character_tags: tuple[str, ...] = ()
    trigger: str = "normal"
    """The kind of generation."""
    sources: Mapping[MatchSource, str] = field(default_factory=dict)
    """Texts beside the chat, for entries that look there."""
    greeting: int | None = None
    """Which greeting began the chat; None is unknown, and meets every condition."""
    user_icon: str = ""
    seed: int = 0
    """Of probabilities and draws; the same seed gives the same result."""
    substitute: Callable[[str], str] = as_it_is
    """Replaces macros in keys and in content."""
    substitute_scanned: Callable[[str], str] | None = None
    """Replaces macros in content that other entries look through, where that is another text than the
    prompt's; None is the same."""

    @cached_property
    def replies(self) -> int:
        """Messages of the assistant's; the greeting is one."""
        return sum(message.role == "assistant" for message in self.messages)
