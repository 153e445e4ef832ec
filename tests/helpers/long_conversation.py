"""A long conversation, written into a transcript in one go.

Run as a file, it writes one with Sherlock Holmes, to try the app by hand:
`ROLELLM_HOME=… python tests/helpers/long_conversation.py 100000`.
"""

import sys
from collections.abc import Callable

from rolellm_agents.config.paths import user_paths
from rolellm_agents.transcript import ConversationRecord, Message, Transcript
from rolellm_agents.transcript.message import USER

_BEGUN = "2026-01-01T00:00:00.000Z"


def rainy_text(place: int) -> str:
    """A text of about 300 characters."""
    return f"{'Answer' if place % 2 else 'Question'} {place}: " + "the boat waits in the rain. " * 10


def long_record(
    messages: int, *, persona: str = "ada", text: Callable[[int], str] = rainy_text
) -> ConversationRecord:
    """A conversation of `messages` messages, in turn by the user and the persona."""

    def message(place: int) -> Message:
        return Message(
            id=f"{place:016x}",
            conversation="",
            parent=f"{place - 1:016x}" if place else None,
            speaker=persona if place % 2 else USER,
            audience=(USER, persona),
            kind="say",
            text=text(place),
            status="complete",
            created=_BEGUN,
        )

    return ConversationRecord(
        persona=persona,
        created=_BEGUN,
        messages=tuple(message(place) for place in range(messages)),
        branches={"main": f"{messages - 1:016x}"},
        branch="main",
    )


def long_conversation(transcript: Transcript, persona: str, length: int) -> str:
    """Write `length` messages, "Line 0." by the user and so on; returns the conversation's id."""
    return transcript.add_record(long_record(length, persona=persona, text=lambda place: f"Line {place}."))


if __name__ == "__main__":
    with Transcript(user_paths().transcript) as opened:
        print(long_conversation(opened, "sherlock-holmes", int(sys.argv[1])))
