"""Why entries of a lorebook stayed out of a prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.cards import Activation, LoreTrace
from rolellm_agents.cards.lore.trace import tells_more
from rolellm_agents.persona import Persona
from rolellm_agents.recall import LoreRecall, RecalledItem, recalled_lore
from rolellm_graphs.events import Prompted

_UNHEARD = "no_key"


@dataclass(frozen=True)
class SilentLore:
    """What stayed out, those that came nearest to being active first."""

    near: tuple[str, ...]
    """A sentence for each that was kept out by more than its keys."""
    unheard: tuple[str, ...]
    """The names of those of which no key was found."""


def silent_lore(
    persona: Persona,
    conversation: Sequence[BaseMessage],
    recalled: Sequence[RecalledItem],
    *,
    user: str,
    state: Mapping[str, Any],
    seed: int | None,
) -> SilentLore | None:
    """What of the persona's own lorebook did not become active for a line.

    What was looked up tells only of what did, so the lorebook is asked again. Effects that last for some
    messages may be unknown by then, and other books had their part: unless the same entries become active,
    the reasons may be others than they were.

    Args:
        persona: whose lorebook, its macros filled.
        conversation: up to the person's line.
        recalled: what was looked up for the line.
        user: name of the user.
        state: timed effects before the line, as far as they are known.
        seed: of probabilities, if there was one.

    Returns:
        None when it cannot be told.

    Raises:
        PersonaError: the lorebook cannot be used.
    """
    lore = LoreRecall(persona, user=user)
    if not lore.books:
        return SilentLore((), ())
    if not conversation:
        return None
    *history, line = conversation
    activation = lore.activate(history, line.text, state, seed=seed)
    (book,) = lore.books
    active = {item["uid"] for item in recalled if item["kind"] == "lore" and item["book"] == book.name}
    if {item["uid"] for item in recalled_lore(activation)} != active:
        return None
    return _silent(activation)


def conversation_in(prompted: Prompted) -> list[BaseMessage]:
    """What was said, up to the person's line, as it stands in a prompt; empty when no line does."""
    said = [part for part in prompted.parts if part.part in ("history", "line")]
    if not said or said[-1].part != "line":
        return []
    return [HumanMessage(part.text) if part.role == "user" else AIMessage(part.text) for part in said]


def _silent(activation: Activation) -> SilentLore:
    silent = [trace for trace in activation.traces if not trace.active]
    near = [trace for trace in silent if trace.why != _UNHEARD]
    near.sort(key=cmp_to_key(_nearest_first))
    return SilentLore(
        near=tuple(trace.sentence() for trace in near),
        unheard=tuple(trace.name or trace.uid for trace in silent if trace.why == _UNHEARD),
    )


def _nearest_first(one: LoreTrace, other: LoreTrace) -> int:
    return tells_more(other.why, one.why) - tells_more(one.why, other.why)
