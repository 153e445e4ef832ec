"""Count what a call of a graph, a line of a chat and a turn of a scene pass through in our own code.

`python tests/journey/trace.py` prints the table of docs/design/journey.md; `--files` adds the calls of each
file's functions. Only public names are imported, so the script also measures earlier versions: put their
folders in front of PYTHONPATH.
"""

import asyncio
import dis
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from rolellm_agents import Persona, Transcript
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.scene import load_scene
from rolellm_graphs import Ensemble, Session, Stage, role_graph

_OURS = ("/rolellm_agents/", "/rolellm_graphs/")
_INLINED = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>"})
"""Functions only up to Python 3.11."""
_WORD_S = 0.02
"""Seconds a word: enough for each to arrive alone, which takes the most calls."""
_RESUME = dis.opmap["RESUME"]
_REPLY = "No boat tonight."
_LINE = "When does the boat leave?"
_PERSONA = Persona.model_validate(
    {"id": "ada", "name": "Ada", "description": "You keep the light.", "catchphrases": ["By my oath."]}
)
_SCENE = """\
id: quay
title: The quay
setting: A quay in the rain.
cast:
  - {id: ada, name: Ada, about: You keep the light.}
  - {id: ben, name: Ben, about: You wait for a boat.}
opening:
  - {text: The last boat is late.}
  - {speaker: ada, text: There is no boat tonight.}
director: round-robin
"""


@dataclass
class Trace:
    """Calls of our own functions."""

    calls: Counter[CodeType] = field(default_factory=Counter)
    """By function; a generator or coroutine that goes on is not called again."""
    changes: int = 0
    """Calls whose caller lies in another file of ours; frames of libraries in between do not count."""

    def figures(self) -> dict[str, int]:
        """The numbers of one row of the table."""
        return {
            "files": len(self.by_file()),
            "functions": len(self.calls),
            "calls": self.calls.total(),
            "changes of file": self.changes,
        }

    def by_file(self) -> dict[str, Counter[str]]:
        """The calls of each file's functions, by the functions' names."""
        files: dict[str, Counter[str]] = {}
        for code, calls in self.calls.items():
            files.setdefault(code.co_filename, Counter())[code.co_qualname] += calls
        return files


@contextmanager
def traced() -> Iterator[Trace]:
    """Count the calls of this thread and of those that start inside."""
    trace, lock = Trace(), threading.Lock()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not _is_ours(frame.f_code) or not _starts(frame):
            return
        caller = frame.f_back
        while caller is not None and not _is_ours(caller.f_code):
            caller = caller.f_back
        with lock:
            trace.calls[frame.f_code] += 1
            trace.changes += caller is not None and caller.f_code.co_filename != frame.f_code.co_filename

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _is_ours(code: CodeType) -> bool:
    return any(folder in code.co_filename for folder in _OURS) and code.co_name not in _INLINED


def _starts(frame: FrameType) -> bool:
    """Whether a function is called, rather than going on after a `yield` or `await`."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] != _RESUME or code[at + 1] == 0


def trace_invoke(_: Path) -> Trace:
    """`role_graph(...).invoke` of one question."""
    graph = role_graph(_PERSONA, model=_model(_REPLY))
    question: Any = {"messages": [("user", _LINE)]}
    graph.invoke(question)
    with traced() as trace:
        graph.invoke(question)
    return trace


def trace_send(folder: Path) -> Trace:
    """`Session.send` of a second line."""
    with Transcript(folder / "chat.db") as transcript:
        session = Session(_PERSONA, transcript, model=_model(_REPLY))
        return _trace_last(lambda: session.send(_LINE), times=2)


def trace_step(folder: Path) -> Trace:
    """`Stage.step` of a turn whose speaker has spoken before."""
    file = folder / "quay.yaml"
    file.write_text(_SCENE, encoding="utf-8")
    with Transcript(folder / "scene.db") as transcript:
        models = {"ada": _model(_REPLY), "ben": _model("Then I wait.")}
        stage = Stage(Ensemble(load_scene(str(file)), models=models, model=models["ada"]), transcript)
        return _trace_last(stage.step, times=4)


def _model(reply: str) -> ScriptedChatModel:
    return ScriptedChatModel(replies=[reply], seconds_per_word=_WORD_S)


JOURNEYS: dict[str, Callable[[Path], Trace]] = {
    "role_graph(...).invoke": trace_invoke,
    "Session.send": trace_send,
    "Stage.step": trace_step,
}


def _trace_last(play: Callable[[], AsyncGenerator[Any, None]], *, times: int) -> Trace:
    """Trace the last of several plays: those before open the conversation and compute what is kept."""

    async def play_all() -> Trace:
        for _ in range(times - 1):
            async for _ in play():
                pass
        # Threads that are running already would not be traced.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
        with traced() as trace:
            async for _ in play():
                pass
        return trace

    return asyncio.run(play_all())


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        traces = {name: trace(Path(folder)) for name, trace in JOURNEYS.items()}
    print("| journey | files | functions | calls | changes of file |\n|---|---|---|---|---|")
    for name, trace in traces.items():
        print(f"| `{name}` | {' | '.join(f'{figure:,}' for figure in trace.figures().values())} |")
    for name, trace in traces.items() if "--files" in sys.argv else ():
        print(f"\n{name}")
        for file, calls in sorted(trace.by_file().items(), key=lambda one: -one[1].total()):
            short = file.partition("/rolellm_")[2]
            print(f"{calls.total():6} {short}: {dict(calls.most_common())}")


if __name__ == "__main__":
    main()
