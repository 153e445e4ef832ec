"""The prompt for suggesting the user's next line (SillyTavern's "impersonate")."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.persona import Persona
from rolellm_agents.prompting.prompts import load_prompt

_LOOKED_BACK = 12
"""How many of the latest messages the prompt contains."""


def line_prompt(persona: Persona, user: str, said: Sequence[tuple[bool, str]]) -> list[BaseMessage]:
    """The conversation with exchanged roles: the model speaks as the user.

    `said` has for each message whether the user said it, and its text; oldest first.
    """
    prompt = load_prompt("next-line", persona.language)
    instruction = prompt.fill(user=user, name=persona.name, description=persona.description)
    return [SystemMessage(instruction), *exchanged_roles(said[-_LOOKED_BACK:])]


def exchanged_roles(said: Sequence[tuple[bool, str]]) -> list[BaseMessage]:
    """A conversation in which the model has said the user's messages, with a message to answer at its end.

    `said` has for each message whether the user said it, and its text; oldest first.
    """
    messages: list[BaseMessage] = [
        AIMessage(text) if is_person else HumanMessage(text) for is_person, text in said
    ]
    if not messages or isinstance(messages[-1], AIMessage):
        # The user spoke last, or there are no messages. Models continue the text of a last AI message.
        messages.append(HumanMessage("…"))
    return messages
