"""The workload: conversations with characters, the same for every server."""

from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from rolellm_agents.models.llamacpp.template import turns_of
from rolellm_agents.persona import Persona, list_personas
from rolellm_graphs.role.chat_model import RoleChatModel

STRATEGY = "system"


@dataclass(frozen=True)
class Request:
    """One turn of one conversation."""

    persona: str
    """The persona's id."""
    messages: list[dict[str, str]]
    """The messages that a client sends to our server."""
    prompt: list[dict[str, Any]]
    """The prompt that our server creates from them, which is sent to the other server."""


def conversations(count: int, turns: int) -> list[list[Request]]:
    """Conversations of so many turns, each with a different character, from the cast's demonstrations.

    Earlier answers in a conversation are demonstrations, too, so that all servers get the same prompts.
    """
    cast = [found.persona for found in list_personas().found if found.persona.language == "en"]
    return [_conversation(cast[number % len(cast)], number // len(cast), turns) for number in range(count)]


def _conversation(persona: Persona, again: int, turns: int) -> list[Request]:
    role = RoleChatModel(persona, model="scripted:", strategy=STRATEGY)
    said: list[dict[str, str]] = []
    requests: list[Request] = []
    for turn in range(turns):
        pair = persona.demonstrations[(turn + again * turns) % len(persona.demonstrations)]
        said.append({"role": "user", "content": pair.user})
        prompt: list[BaseMessage] = role.prompt([(one["role"], one["content"]) for one in said])
        requests.append(Request(persona.id, list(said), [dict(one) for one in turns_of(prompt)]))
        said.append({"role": "assistant", "content": pair.reply})
    return requests
