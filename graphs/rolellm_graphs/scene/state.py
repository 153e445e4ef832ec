"""The scene graph's input, state, output and context."""

from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from langgraph.channels import EphemeralValue
from typing_extensions import TypedDict

from rolellm_agents.scene import SceneLine
from rolellm_agents.scene.line import Summary
from rolellm_agents.transcript.message import Kind


def merge_lines(lines: list[SceneLine], update: list[SceneLine]) -> list[SceneLine]:
    """Reducer that appends new lines; an update that begins with the existing lines replaces them.

    A scene within another graph also returns its input lines. With this reducer the outer state contains
    each line once.
    """
    return update if update[: len(lines)] == lines else [*lines, *update]


class PersonsLine(TypedDict):
    """A person's line."""

    seat: str
    """The seat, or `NARRATOR` for a person who narrates."""
    kind: Kind
    to: list[str]
    """The seats to which a whisper is addressed."""
    text: str


class Attempt(TypedDict):
    """A model's answer in a turn; the last attempt becomes the line."""

    kind: Kind
    to: list[str]
    text: str
    fault: str
    """Why the answer is faulty; empty if it is not."""
    made_by: dict[str, Any]
    """Provenance: model, strategy, seed, token counts, recalled items."""


class SceneInput(TypedDict, total=False):
    """The graph's input."""

    lines: Annotated[list[SceneLine], merge_lines]
    """The lines so far, for callers that keep their own state; omit them with a checkpointer."""
    said: Annotated[PersonsLine | None, EphemeralValue]
    """A person's line, which takes the turn."""
    next: Annotated[str | None, EphemeralValue]
    """The seat that speaks next, instead of the director's choice."""


class SceneState(TypedDict):
    """The graph's state."""

    lines: Annotated[list[SceneLine], merge_lines]
    persons_line: NotRequired[PersonsLine | None]
    """A person's line in this turn."""
    called: NotRequired[str | None]
    """The seat that a person chose to speak next."""
    speaker: NotRequired[str | None]
    why: NotRequired[str]
    """The reason for the director's choice."""
    passed: NotRequired[list[str]]
    """The seats of people who passed in this turn."""
    summary: NotRequired[Summary | None]
    """The speaker's new summary, if one was written in this turn."""
    attempts: NotRequired[list[Attempt]]
    narration_tries: NotRequired[int]
    """How many faulty narrations came before the next try; 0 if none is pending."""
    turns: NotRequired[int]
    """The number of turns in this call."""
    ended: NotRequired[str]
    """Why the scene is over; empty while it is not."""


class SceneOutput(TypedDict):
    """The graph's output."""

    lines: Annotated[list[SceneLine], merge_lines]
    ended: str


@dataclass(frozen=True, kw_only=True)
class SceneContext:
    """Options of one call that are not part of the scene."""

    seed: int | None = None
    """Seed of directors, and of models that support one; defaults to the scene's seed, or 0."""
    turns: int | None = None
    """The most turns of the call; None plays to the scene's end. A resumed call continues to count."""
    persons: tuple[str, ...] | None = None
    """The seats of people, which may include `NARRATOR`; defaults to those that the scene names."""
