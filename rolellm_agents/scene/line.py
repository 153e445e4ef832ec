"""Lines of a scene as plain values, for graph states and files."""

from typing import Any, Final

from typing_extensions import TypedDict

from rolellm_agents.transcript.message import Kind, Message


class SceneLine(TypedDict):
    """A message without its place in the tree and its times."""

    id: str
    speaker: str
    """A seat, or `NARRATOR`."""
    kind: Kind
    audience: list[str]
    """The seats that witnessed the line, including the speaker's."""
    text: str
    made_by: dict[str, Any]


class Summary(TypedDict):
    """A seat's summary of the first lines that it witnessed, kept in `made_by` of the seat's next line."""

    text: str
    lines: int
    """How many of the witnessed lines the summary covers, counted from the first."""


NO_TURNS: Final = frozenset({"narrate", "join", "leave"})
"""The message kinds of lines that are no turns: narration, entrances and exits."""


def is_turn(line: SceneLine) -> bool:
    """Whether the line is speech, a whisper, an act, a thought or of a kind that is not ours.

    Also true of opening lines.
    """
    return line["kind"] not in NO_TURNS


def line_of(message: Message) -> SceneLine:
    """Convert a message of the transcript."""
    return SceneLine(
        id=message.id,
        speaker=message.speaker,
        kind=message.kind,
        audience=list(message.audience),
        text=message.text,
        made_by=dict(message.made_by),
    )
