"""One thing that happened in a scene, as a plain value: graph states and files hold it."""

from typing import Any

from typing_extensions import TypedDict

from rolellm_agents.transcript.message import Kind, Message


class SceneLine(TypedDict):
    """A message as far as who witnessed it depends on it."""

    id: str
    speaker: str
    """A seat, or `NARRATOR`."""
    kind: Kind
    audience: list[str]
    """The seats that witnessed it, the speaker's among them."""
    text: str
    made_by: dict[str, Any]


class Summary(TypedDict):
    """What a seat remembers of the first lines it witnessed; kept in `made_by` of its own next line."""

    text: str
    lines: int
    """How many, of all that it witnessed. They are its sources; on another branch it never was."""


def is_turn(line: SceneLine) -> bool:
    """Whether somebody did it, rather than that it happened; opening lines are among them."""
    return line["kind"] in ("say", "whisper", "act", "think")


def line_of(message: Message) -> SceneLine:
    """A message of the transcript as a line."""
    return SceneLine(
        id=message.id,
        speaker=message.speaker,
        kind=message.kind,
        audience=list(message.audience),
        text=message.text,
        made_by=dict(message.made_by),
    )
