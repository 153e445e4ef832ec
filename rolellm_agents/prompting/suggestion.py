"""The prompt by which a model writes what the person might say next (SillyTavern's "impersonate")."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.persona import Persona
from rolellm_agents.prompting.prompts import load_prompt

_LOOKED_BACK = 12
"""Messages; a line does not hang on what was said long ago."""


def line_prompt(persona: Persona, user: str, said: Sequence[tuple[bool, str]]) -> list[BaseMessage]:
    """The conversation with its roles exchanged: the model speaks as the person.

    Args:
        persona: with whom the person talks.
        user: the person's display name.
        said: whether it was the person, and what was said, oldest first.
    """
    prompt = load_prompt("next-line", persona.language)
    messages: list[BaseMessage] = [
        SystemMessage(prompt.fill(user=user, name=persona.name, description=persona.description))
    ]
    for is_person, text in said[-_LOOKED_BACK:]:
        messages.append(AIMessage(text) if is_person else HumanMessage(text))
    if isinstance(messages[-1], AIMessage) or len(messages) == 1:
        # The person spoke last, or nobody did; a model that is asked nothing goes on with old words.
        messages.append(HumanMessage("…"))
    return messages
