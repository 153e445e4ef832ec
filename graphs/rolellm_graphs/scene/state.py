"""What a scene's graph is given, keeps between its nodes, and may be told anew for each call."""

from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from langgraph.channels import EphemeralValue
from typing_extensions import TypedDict

from rolellm_agents.scene import SceneLine
from rolellm_agents.scene.line import Summary
from rolellm_agents.transcript.message import Kind


def going_on(lines: list[SceneLine], told: list[SceneLine]) -> list[SceneLine]:
    """The lines after those there were; told from the beginning on, they are all.

    A scene within another graph gives back what it was given, too, and a state that keeps its lines by this
    has each of them once.
    """
    return told if told[: len(lines)] == lines else [*lines, *told]


class PersonsLine(TypedDict):
    """What a person in a seat does."""

    seat: str
    """The seat, or `NARRATOR` for a person who tells what happens."""
    kind: Kind
    to: list[str]
    """The seats a whisper is for."""
    text: str


class Attempt(TypedDict):
    """What a model made of a turn; the last one stands."""

    kind: Kind
    to: list[str]
    text: str
    fault: str
    """Why it should not stand; empty when it may."""
    made_by: dict[str, Any]
    """Model, strategy, seed, token counts, what was looked up."""


class SceneInput(TypedDict, total=False):
    """What the graph takes."""

    lines: Annotated[list[SceneLine], going_on]
    """What happened so far, for callers who keep it themselves; with a checkpointer leave it out."""
    said: Annotated[PersonsLine | None, EphemeralValue]
    """A person speaks unasked: the turn is theirs."""
    next: Annotated[str | None, EphemeralValue]
    """Who speaks next, instead of whom the director would choose."""


class SceneState(TypedDict):
    """What the graph keeps."""

    lines: Annotated[list[SceneLine], going_on]
    persons_line: NotRequired[PersonsLine | None]
    """What a person does in this turn."""
    called: NotRequired[str | None]
    """The seat that a person told to speak."""
    speaker: NotRequired[str | None]
    why: NotRequired[str]
    """Of the director's choice."""
    passed: NotRequired[list[str]]
    """People who did not want to speak in this turn."""
    summary: NotRequired[Summary | None]
    """What the speaker remembers, if it was just made."""
    attempts: NotRequired[list[Attempt]]
    turns: NotRequired[int]
    """Taken in this call."""
    ended: NotRequired[str]
    """Why the scene is over; empty while it is not."""


class SceneOutput(TypedDict):
    """What the graph gives back."""

    lines: Annotated[list[SceneLine], going_on]
    ended: str


@dataclass(frozen=True, kw_only=True)
class SceneContext:
    """What may differ from call to call without being part of the scene."""

    seed: int | None = None
    """Of directors, and of models where they take one; the scene's own, or 0, when None."""
    turns: int | None = None
    """After so many the call ends, over or not; None goes on to the scene's end. A call that waited for a
    person and is resumed counts on."""
    persons: tuple[str, ...] | None = None
    """The seats in which people sit; those the scene names when None. A person can sit on the
    narrator's chair too."""
