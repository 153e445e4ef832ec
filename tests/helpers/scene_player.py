"""A process that plays scenes; run as a file, so that what plays can be killed.

For each JSON request line on stdin, `{"file": …, "conversation": … or null, "director": …, "steps": … or
null}`, a child of it plays the scene to its end, and tells each thing by a JSON line on stdout once it is
stored. With `steps` the child kills itself after so many instructions of SQLite's machine, so in the middle
of a change. When it is over, however it ended, `{"over": STATUS}` follows.
"""

import asyncio
import json
import os
import signal
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

from helpers.scenes import DIRECTORS, by_prompt, everybodys, full_room
from rolellm_agents.scene import LoadedScene
from rolellm_agents.transcript import Transcript
from rolellm_graphs.events import MessageDone, Retried, TokenDelta, TurnFailed
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage, stored_scene

PACE = 0.001
"""Seconds a word."""


def ensemble_of(loaded: LoadedScene, pace: float = 0) -> Ensemble:
    """Those who play: the same to each prompt."""
    models = by_prompt(loaded)
    for model in models.values():
        model.seconds_per_word = pace
    return Ensemble(loaded, model=everybodys(loaded), models=models)


def tell(**told: Any) -> None:
    """One line, out of this process before anything else is written."""
    os.write(1, (json.dumps(told) + "\n").encode())


def die() -> int:
    """As from outside: nothing is cleaned up, nothing is written any more."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 1


async def play(file: Path, conversation: str | None, director: int, steps: int | None) -> None:
    """Play to the end, from where the scene stands."""
    with Transcript(file) as transcript:
        if steps:
            left = iter(range(steps))
            transcript._database.connection.set_progress_handler(
                lambda: 0 if next(left, None) is not None else die(), 1
            )
        loaded, seed = full_room(DIRECTORS[director]), None
        if conversation:
            loaded, seed = stored_scene(transcript, conversation)
        stage = Stage(ensemble_of(loaded, PACE), transcript, conversation=conversation, seed=seed)
        while not stage.ended:
            async with aclosing(stage.step()) as events:
                async for event in events:
                    match event:
                        case TokenDelta(message=id_, text=text):
                            tell(did="words", id=id_, text=text)
                        case MessageDone(message=message):
                            tell(did="done", id=message.id, text=message.text)
                        case Retried(message=message) if message:
                            tell(did="done", id=message.id, text=message.text)
                        case TurnFailed(error=error):
                            raise error


def serve() -> None:
    """Let a child do as each line of stdin says."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            tell(did="begin", pid=os.getpid())
            file, conversation = Path(request["file"]), request["conversation"]
            asyncio.run(play(file, conversation, request["director"], request["steps"]))
            os._exit(0)
        tell(over=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    serve()
