"""What is asked: conversations of characters, the same for every server."""

from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from rolellm_agents.models.llamacpp.template import turns_of
from rolellm_agents.persona import Persona, list_personas
from rolellm_graphs.role.chat_model import RoleChatModel

TURNS = 3
STRATEGY = "system"


@dataclass(frozen=True)
class Request:
    """One turn of one conversation."""

    persona: str
    """The id."""
    messages: list[dict[str, str]]
    """As a client of ours sends them."""
    prompt: list[dict[str, Any]]
    """What they become for the model: what another server must be sent to be asked the same."""


def conversations(count: int) -> list[list[Request]]:
    """So many conversations of three turns, each with another character, from the cast's own lines.

    What the character said before is written down, not what a server answered: all are asked the same.
    """
    cast = [found.persona for found in list_personas().found if found.persona.language == "en"]
    return [_conversation(cast[number % len(cast)], number // len(cast)) for number in range(count)]


def _conversation(persona: Persona, again: int) -> list[Request]:
    role = RoleChatModel(persona, model="scripted:", strategy=STRATEGY)
    said: list[dict[str, str]] = []
    requests: list[Request] = []
    for turn in range(TURNS):
        pair = persona.demonstrations[(turn + again * TURNS) % len(persona.demonstrations)]
        said.append({"role": "user", "content": pair.user})
        prompt: list[BaseMessage] = role.prompt([(one["role"], one["content"]) for one in said])
        requests.append(Request(persona.id, list(said), [dict(one) for one in turns_of(prompt)]))
        said.append({"role": "assistant", "content": pair.reply})
    return requests
