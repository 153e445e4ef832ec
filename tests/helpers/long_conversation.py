"""A long conversation, written into a transcript in one go.

Run as a file, it writes one with Sherlock Holmes, to try the app by hand:
`ROLELLM_HOME=… python tests/helpers/long_conversation.py 100000`.
"""

import sys

from rolellm_agents.config.paths import user_paths
from rolellm_agents.transcript import ConversationRecord, Message, Transcript
from rolellm_agents.transcript.message import USER


def long_conversation(transcript: Transcript, persona: str, length: int) -> str:
    """Write `length` messages, "Line 0." by the user and so on; returns the conversation's id."""
    begun = "2026-01-01T00:00:00.000Z"
    messages = [
        Message(
            id=f"{number:016x}",
            conversation="",
            parent=f"{number - 1:016x}" if number else None,
            speaker=persona if number % 2 else USER,
            audience=(USER, persona),
            kind="say",
            text=f"Line {number}.",
            status="complete",
            made_by={},
            created=begun,
        )
        for number in range(length)
    ]
    record = ConversationRecord(
        persona=persona,
        created=begun,
        messages=tuple(messages),
        branches={"main": messages[-1].id},
        branch="main",
    )
    return transcript.add_record(record)


if __name__ == "__main__":
    with Transcript(user_paths().transcript) as opened:
        print(long_conversation(opened, "sherlock-holmes", int(sys.argv[1])))
