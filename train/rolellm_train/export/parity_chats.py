"""The conversations of the parity check: twenty prompts with bundled personas."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.persona import Persona, list_personas
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.text.language import Language

COUNT: Final = 20
_STRATEGY: Final = "system"
_CHINESE: Final = 5


def parity_chats() -> list[list[BaseMessage]]:
    """For each persona its instruction, one exchange and a question; a quarter of the chats are Chinese."""
    return [_chat(persona) for persona in (*_some("en", COUNT - _CHINESE), *_some("zh", _CHINESE))]


def _some(language: Language, count: int) -> Sequence[Persona]:
    """Personas spread over the bundled cast, the shortest of each part."""
    cast = sorted(
        (
            found.persona
            for found in list_personas().found
            if found.origin == "bundled" and found.persona.language == language
        ),
        key=lambda persona: persona.id,
    )
    edges = [number * len(cast) // count for number in range(count + 1)]
    return [min(cast[start:end], key=_length) for start, end in pairwise(edges)]


def _length(persona: Persona) -> int:
    return sum(len(message.text) for message in _chat(persona))


def _chat(persona: Persona) -> list[BaseMessage]:
    filled = with_macros(persona, DEFAULT_USER)
    before, now = filled.demonstrations[:2]
    history = [HumanMessage(before.user), AIMessage(before.reply)]
    return Prompting(filled, _STRATEGY, user=DEFAULT_USER).compose(history, [], now.user)
