"""Short ways to write into a transcript, shared by the tests of whatever writes into one."""

from pathlib import Path

from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_agents.transcript.store import MAIN

PERSONA = "ada"
BOTH = (USER, PERSONA)
WRITER = Path(__file__).with_name("transcript_writer.py")
"""A program that writes into a transcript and tells what it stored."""
EMPTIER = Path(__file__).with_name("transcript_emptier.py")
"""A program that empties the bin of a transcript, and is killed meanwhile."""


def say(
    transcript: Transcript,
    conversation: str,
    parent: str | None,
    text: str,
    *,
    speaker: str = USER,
    branch: str = MAIN,
) -> Message:
    """Append a line that both witness."""
    return transcript.append(conversation, parent, speaker=speaker, audience=BOTH, text=text, branch=branch)


def begin(transcript: Transcript, conversation: str, parent: str | None, *pieces: str) -> str:
    """Begin the persona's answer and stream `pieces` of it."""
    message = transcript.begin(conversation, parent, speaker=PERSONA, audience=BOTH)
    for piece in pieces:
        transcript.add_piece(message, piece)
    return message
