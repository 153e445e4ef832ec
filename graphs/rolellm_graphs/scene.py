"""The scene graph: several characters and people in one place.

events → direct → (remember → speak → guard, or person) → witness → narrate → events …

What happened is a list of lines, each with its audience; a speaker's prompt is built from those lines alone
that its seat witnessed (`rolellm_agents.scene.view`). A person's turn is an interrupt.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime
from langgraph.types import Checkpointer, interrupt

from rolellm_agents.cards import Lorebook
from rolellm_agents.errors import MessageError, SceneError
from rolellm_agents.recall import Passage, RecallOptions
from rolellm_agents.scene import NARRATOR, LoadedScene, Scene, SceneLine, cast_scene, load_scene
from rolellm_agents.scene.happenings import Happening, due, happened
from rolellm_agents.scene.stopping import ending
from rolellm_agents.scene.witness import present_in
from rolellm_graphs.directing import director_node
from rolellm_graphs.ensemble import Ensemble
from rolellm_graphs.narrating import narrator_node
from rolellm_graphs.node import Node
from rolellm_graphs.scene_state import PersonsLine, SceneContext, SceneInput, SceneOutput, SceneState
from rolellm_graphs.speaking import guard_node, is_to_be_said_again, remember_node, speak_node, speaker_of

SceneGraph = CompiledStateGraph[SceneState, SceneContext, SceneInput, SceneOutput]


def scene_graph(
    scene: LoadedScene | Scene | str | Path,
    *,
    model: BaseChatModel | str | None = None,
    models: Mapping[str, BaseChatModel | str] | None = None,
    strategy: str | None = None,
    checkpointer: Checkpointer = None,
    lorebooks: Sequence[Lorebook] = (),
    recall: RecallOptions | None = None,
    memories: Mapping[str, Sequence[Passage]] | None = None,
) -> SceneGraph:
    """Build the graph in which a scene is played to its end, or for as many turns as its context tells.

    A call goes on after the `lines` it is given, or after those of its checkpoint. Where a person sits, it
    waits by an interrupt, whose value has `seat` and `why`; it is resumed with a `PersonsLine`, with
    `{"pass": True}`, or, when nobody was chosen, with `{"next": SEAT}`. Interrupts need a checkpointer.

    Args:
        scene: a scene, its id, or its path.
        model: for all who have none of their own, in place of the scene's; a chat model or a spec.
        models: for single seats.
        strategy: how personas reach their models, in place of the scene's.
        checkpointer: anybody's; None keeps nothing between calls.
        lorebooks: of the world, beside each persona's own.
        recall: how passages are looked up.
        memories: of earlier conversations, by seat.

    Raises:
        SceneError: there is no such scene, or it cannot be used.
        PersonaError: one of its cast cannot be found.
        ModelError: there is no such model.
    """
    loaded = _loaded(scene)
    ensemble = Ensemble(
        loaded,
        model=model,
        models=models,
        strategy=strategy,
        lorebooks=lorebooks,
        recall=recall,
        memories=memories,
    )
    return staged_scene_graph(ensemble, checkpointer=checkpointer)


def staged_scene_graph(ensemble: Ensemble, *, checkpointer: Checkpointer = None) -> SceneGraph:
    """The same graph for those who hold the ensemble already."""
    course = _Course(ensemble)
    builder = StateGraph(
        SceneState, context_schema=SceneContext, input_schema=SceneInput, output_schema=SceneOutput
    )
    builder.add_node("begin", Node(_begin))
    builder.add_node("events", Node(course.events))
    builder.add_node("direct", director_node(ensemble, seed_of=course.seed, persons_of=course.persons))
    builder.add_node("person", Node(_person))
    builder.add_node("remember", remember_node(ensemble))
    builder.add_node("speak", speak_node(ensemble, seed_of=course.seed))
    builder.add_node("guard", guard_node(ensemble))
    builder.add_node("witness", Node(course.witness))
    builder.add_node("narrate", narrator_node(ensemble, persons_of=course.persons))
    builder.add_edge(START, "begin")
    builder.add_edge("begin", "events")
    builder.add_conditional_edges("events", course.after_events, ["witness", "direct", END])
    builder.add_conditional_edges("direct", course.after_direct, ["person", "remember", END])
    builder.add_conditional_edges("person", _after_person, ["witness", "direct"])
    builder.add_edge("remember", "speak")
    builder.add_edge("speak", "guard")
    builder.add_conditional_edges("guard", _after_guard, ["speak", "witness"])
    builder.add_edge("witness", "narrate")
    builder.add_conditional_edges("narrate", _after_narrate, ["events", END])
    return builder.compile(checkpointer=checkpointer, name=f"scene:{ensemble.loaded.scene.id}")


class _Course:
    """The nodes and turnings that depend on the scene."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._loaded = ensemble.loaded
        self._scene = ensemble.loaded.scene

    def persons(self) -> tuple[str, ...]:
        told = _context().persons
        return tuple(seat.id for seat in self._scene.cast if seat.person) if told is None else told

    def seed(self) -> int:
        told = _context().seed
        return told if told is not None else self._scene.seed or 0

    def events(self, state: SceneState) -> dict[str, Any]:
        return {"lines": due(self._loaded, state.get("lines") or [])}

    def witness(self, state: SceneState) -> dict[str, Any]:
        lines = state["lines"]
        line = happened(self._loaded, lines, _turn(self._loaded, state))
        counted = (state.get("turns") or 0) + 1
        over = ending(self._scene, [*lines, line]) or ""
        return {"lines": [line], "turns": counted, "ended": over, **_NOBODYS_TURN}

    def after_events(self, state: SceneState) -> str:
        if state.get("said"):
            return "witness"
        return END if ending(self._scene, state["lines"]) else "direct"

    def after_direct(self, state: SceneState) -> str:
        speaker = state.get("speaker")
        if speaker is None:
            return "person" if self._scene.director.kind == "manual" else END
        return "person" if speaker in self.persons() else "remember"


def _person(state: SceneState) -> dict[str, Any]:
    """Wait for the person whose turn it is, or who is to say whose."""
    seat = state.get("speaker")
    told = interrupt({"seat": seat, "why": state.get("why", "")})
    if told.get("next"):
        return {"next": told["next"]}
    if told.get("pass"):
        return {"passed": [*(state.get("passed") or []), *([seat] if seat else [])], "next": None}
    return {"said": told}


def _after_person(state: SceneState) -> str:
    return "witness" if state.get("said") else "direct"


def _after_guard(state: SceneState) -> str:
    return "speak" if is_to_be_said_again(state) else "witness"


def _after_narrate(state: SceneState) -> str:
    turns = _context().turns
    over = state.get("ended") or (turns is not None and (state.get("turns") or 0) >= turns)
    return END if over else "events"


def _loaded(scene: LoadedScene | Scene | str | Path) -> LoadedScene:
    if isinstance(scene, LoadedScene):
        return scene
    return cast_scene(scene) if isinstance(scene, Scene) else load_scene(scene)


def _context() -> SceneContext:
    # LangGraph gives None to those who gave none.
    return get_runtime(SceneContext).context or SceneContext()


def _begin(state: SceneState) -> dict[str, Any]:
    """Nothing of a call before: only what happened is kept from one to the next."""
    return {"turns": 0, "ended": "", "passed": [], "attempts": [], "summary": None, "speaker": None}


_NOBODYS_TURN: dict[str, Any] = {
    "said": None,
    "next": None,
    "speaker": None,
    "passed": [],
    "attempts": [],
    "summary": None,
}


def _turn(loaded: LoadedScene, state: SceneState) -> Happening:
    """What is to stand of the turn: a person's line, or the last attempt."""
    said = state.get("said")
    if said:
        return _persons_turn(loaded, state["lines"], said)
    attempt = (state.get("attempts") or [])[-1]
    why, summary = state.get("why"), state.get("summary")
    made_by = {
        **attempt["made_by"],
        **({"why": why} if why else {}),
        **({"fault": attempt["fault"]} if attempt["fault"] else {}),
        **({"summary": dict(summary)} if summary else {}),
    }
    return Happening(speaker_of(state), attempt["kind"], tuple(attempt["to"]), attempt["text"], made_by)


def _persons_turn(loaded: LoadedScene, lines: Sequence[SceneLine], said: PersonsLine) -> Happening:
    seat, text = said["seat"], said["text"].strip()
    if seat != NARRATOR and seat not in loaded.seats:
        raise SceneError(f"There is no seat {seat!r}; seats are {', '.join(loaded.seats)}.")
    if seat != NARRATOR and said["kind"] != "join" and seat not in present_in(loaded.scene, lines):
        raise MessageError(f"{loaded.names[seat]} is not there; let them come in first.")
    if not text and said["kind"] not in ("join", "leave"):
        raise MessageError("The message is empty; type something to say.")
    return Happening(seat, said["kind"], tuple(said["to"]), text, {"person": True})
