"""What is sent of a conversation of 4,000 messages to a server that reads 8,192 tokens.

`python tests/helpers/long_conversation_tokens.py` prints one line for each request of three turns, with a
summary after each turn. Put the folders of an earlier version in front of PYTHONPATH to measure it.
"""

import asyncio
from typing import Any

from helpers.broken_servers import LoopbackServer, serving_up_to, tokens_sent
from helpers.long_conversation import long_record
from rolellm_agents import Persona, Transcript, get_model
from rolellm_graphs import Session

_MESSAGES = 4_000
_LIMIT = 8_192
_PERSONA = Persona.model_validate({"id": "ada", "name": "Ada", "description": "You keep the light."})


def _refusal(limit: int, size: int) -> str:
    return (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {size} "
        "tokens. Please reduce the length of the messages."
    )


def _reply(messages: list[dict[str, Any]]) -> str:
    return "You kept the light. " * 20 if len(messages) == 1 else "No boat tonight."


def _told(what: str, bodies: list[dict[str, Any]]) -> None:
    for body in bodies:
        print(f"{what}: {len(body['messages']):,} messages, {tokens_sent(body):,} tokens")


async def _talk(server: LoopbackServer) -> None:
    with Transcript() as transcript:
        conversation = transcript.add_record(long_record(_MESSAGES))
        model = get_model("openai:some-model", base_url=server.url)
        session = Session(_PERSONA, transcript, model=model, conversation=conversation)
        for turn in range(1, 4):
            async for _ in session.send("When does the boat leave?"):
                pass
            _told(f"turn {turn}, refused", server.refused)
            _told(f"turn {turn}, answered", server.requests)
            server.refused.clear()
            server.requests.clear()
            if summarize := getattr(session, "summarize", None):
                await summarize()
                asked = sum(tokens_sent(body) for body in server.requests)
                print(f"turn {turn}, summaries: {len(server.requests):,} requests, {asked:,} tokens")
                server.requests.clear()


def main() -> None:
    """Print the figures."""
    with serving_up_to(_LIMIT, refusal=_refusal, reply=_reply) as server:
        asyncio.run(_talk(server))


if __name__ == "__main__":
    main()
