"""Plays a scene without a front end, for files and labs."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from rolellm_agents.scene import SceneLine
from rolellm_agents.scene.run_file import RunFile
from rolellm_agents.transcript import Message
from rolellm_graphs.events import MessageDone, SceneEvent, TurnFailed, YourTurn
from rolellm_graphs.scene.narrating import narration_line
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.tape import Call


@dataclass(frozen=True, kw_only=True)
class Played:
    """A message of a played scene, with the model calls that produced it."""

    message: Message
    turn: int
    """The number of finished turns, including this one."""
    calls: tuple[Call, ...]
    """The turn's model calls, including retries; empty for messages without a model."""


async def play(stage: Stage, turns: int | None = None) -> AsyncGenerator[SceneEvent | Played, None]:
    """Play until the scene ends, the limit of turns is reached, or a person has to speak.

    Yields each event at once and, after each turn, its messages as `Played`.

    Args:
        stage: the scene.
        turns: the most turns; None plays to the end.

    Raises:
        RoleLLMError: a model failed; the transcript keeps what was played.
    """
    taken = 0
    while not stage.ended and (turns is None or taken < turns):
        happened: list[Message] = []
        waits = False
        before = stage.turns
        async with aclosing(stage.step()) as events:
            async for event in events:
                yield event
                if isinstance(event, MessageDone):
                    happened.append(event.message)
                elif isinstance(event, TurnFailed):
                    raise event.error
                waits = waits or isinstance(event, YourTurn)
        for played in _played(happened, before, tuple(stage.calls)):
            yield played
        taken += stage.turns - before
        if waits or stage.turns == before:
            return


def _played(happened: list[Message], before: int, calls: tuple[Call, ...]) -> list[Played]:
    turn = before
    found = []
    for message in happened:
        by_model = "model" in message.made_by
        turn += by_model
        found.append(Played(message=message, turn=turn, calls=calls if by_model else ()))
    return found


def missing_narration(record: RunFile) -> SceneLine | None:
    """The narrator's line that an interrupted run file lacks, restored from the recorded call."""
    calls: Sequence[Call] = record.records[-1].get("calls") or () if record.records else ()
    answers = [call["text"] for call in calls if call["by"] == "narrate"]
    if not answers:
        return None
    return narration_line(record.loaded, record.lines, answers[-1], tries=len(answers), made_by={})
