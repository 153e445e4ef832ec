"""The inactive lorebook entries of a prompt, with reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.cards import Activation, LoreTrace
from rolellm_agents.cards.lore.trace import is_closer
from rolellm_agents.persona import Persona
from rolellm_agents.recall import LoreRecall, RecalledItem, recalled_lore
from rolellm_graphs.events import Prompted

_UNHEARD = "no_key"


@dataclass(frozen=True)
class SilentLore:
    """Inactive entries, closest to activation first."""

    near: tuple[str, ...]
    """A sentence for each entry with a matched key."""
    unheard: tuple[str, ...]
    """Names of entries without a matched key."""


def silent_lore(
    persona: Persona,
    conversation: Sequence[BaseMessage],
    recalled: Sequence[RecalledItem],
    *,
    user: str,
    state: Mapping[str, Any],
    seed: int | None,
) -> SilentLore | None:
    """Find the entries of the persona's lorebook that were inactive for a line.

    Only active entries are recorded, so the lorebook is activated again. The result may differ from the
    original activation if timed effects are unknown, or if other lorebooks took part in it. Reasons are
    therefore only returned if the same entries become active.

    Args:
        persona: the persona, with its macros filled.
        conversation: the conversation up to the user's line.
        recalled: the items that were recalled for the line.
        user: the user's name.
        state: the timed effects before the line, as far as they are known.
        seed: the seed for the entries' probabilities, if there was one.

    Returns:
        The inactive entries; None when other entries become active, so that the reasons are unknown.

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
    """The messages of a prompt up to the user's line; empty without one."""
    messages = [part for part in prompted.parts if part.part in ("history", "line")]
    if not messages or messages[-1].part != "line":
        return []
    return [HumanMessage(part.text) if part.role == "user" else AIMessage(part.text) for part in messages]


def _silent(activation: Activation) -> SilentLore:
    silent = [trace for trace in activation.traces if not trace.active]
    near = [trace for trace in silent if trace.why != _UNHEARD]
    near.sort(key=cmp_to_key(_nearest_first))
    return SilentLore(
        near=tuple(trace.sentence() for trace in near),
        unheard=tuple(trace.name or trace.uid for trace in silent if trace.why == _UNHEARD),
    )


def _nearest_first(left: LoreTrace, right: LoreTrace) -> int:
    return is_closer(right.why, left.why) - is_closer(left.why, right.why)
