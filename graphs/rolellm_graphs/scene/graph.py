"""The scene graph: several characters and people in one place.

begin → narrate → events → direct → (remember → speak → guard, or person) → witness → narrate …

The history is a list of lines, each with its audience. A speaker's prompt contains only the lines that its
seat witnessed (`rolellm_agents.scene.view`). A person's turn is an interrupt.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from rolellm_agents.cards import Lorebook
from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.prompting.prompts import load_prompts
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import Passage, RecallOptions
from rolellm_agents.scene import NARRATOR, LoadedScene, Scene, SceneLine, cast_scene, load_scene
from rolellm_agents.scene.directors import DirectorFunction
from rolellm_agents.scene.events import (
    ScheduledEvent,
    check_present,
    due_lines,
    event_line,
    join_event,
    leave_event,
)
from rolellm_agents.scene.message_kinds import MessageKind
from rolellm_agents.scene.stopping import ending
from rolellm_agents.scene.witness import present_in
from rolellm_graphs.role.call_context import context_of
from rolellm_graphs.role.graph import Checkpointer
from rolellm_graphs.role.model_node import Node
from rolellm_graphs.scene.directing import director_node
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.narrating import narrator_node
from rolellm_graphs.scene.speaking import (
    guard_node,
    needs_retry,
    remember_node,
    speak_node,
    speaker_of,
)
from rolellm_graphs.scene.state import PersonsLine, SceneContext, SceneInput, SceneOutput, SceneState

SceneGraph = CompiledStateGraph[SceneState, SceneContext, SceneInput, SceneOutput]


def scene_graph(
    scene: LoadedScene | Scene | str | Path,
    *,
    model: BaseChatModel | str | None = None,
    models: Mapping[str, BaseChatModel | str] | None = None,
    director: DirectorFunction | None = None,
    strategy: str | Strategy | None = None,
    turn_kinds: Sequence[str | MessageKind] | None = None,
    checkpointer: Checkpointer = None,
    lorebooks: Sequence[Lorebook] = (),
    recall: RecallOptions | None = None,
    memories: Mapping[str, Sequence[Passage]] | None = None,
) -> SceneGraph:
    """Build the graph that plays a scene to its end, or for the number of turns in its context.

    A call continues after the given `lines`, or after those of its checkpoint. A person's turn raises an
    interrupt, whose value has `seat` and `why`. Resume it with a `PersonsLine`, with `{"pass": True}`, or
    with `{"next": SEAT}`. After an invalid value the graph interrupts again, and `why` contains the error.
    Interrupts need a checkpointer. If the scene is part of another graph, resume by the interrupt's id
    (`Command(resume={interrupt.id: …})`), because after a failure LangGraph passes a plain resume value to
    the next interrupt as well. Stream with `subgraphs=True` to receive the speakers' words.

    Args:
        scene: a scene, its id, or its path.
        model: the model of all seats without their own, as a chat model or a spec; overrides the scene's,
            and all models of a file from elsewhere to which the user has not agreed.
        models: models by seat; they override the scene's.
        director: a function that chooses the next speaker; overrides the scene's director.
        strategy: the strategy of all seats without their own; overrides the scene's strategy.
        turn_kinds: the message kinds that characters may use, by name or as objects; they override the
            scene's.
        checkpointer: any LangGraph checkpointer; None keeps nothing between calls.
        lorebooks: lorebooks of all seats, beside each persona's own.
        recall: how passages are looked up.
        memories: passages of earlier conversations by seat.

    Raises:
        SceneError: the scene does not exist or cannot be used, or a seat or a turn kind does not exist.
        PersonaError: a persona of the cast cannot be found.
        ModelError: there is no such model.
        TrustError: models of a file from elsewhere would be used, and nobody has agreed to them.
    """
    loaded = _loaded(scene) if turn_kinds is None else _loaded(scene).with_turn_kinds(turn_kinds)
    ensemble = Ensemble(
        loaded,
        model=model,
        models=models,
        director=director,
        strategy=strategy,
        lorebooks=lorebooks,
        recall=recall,
        memories=memories,
    )
    return staged_scene_graph(ensemble, checkpointer=checkpointer)


def staged_scene_graph(ensemble: Ensemble, *, checkpointer: Checkpointer = None) -> SceneGraph:
    """Build the same graph from an existing ensemble."""
    load_prompts(ensemble.loaded.scene.language)  # read here, not in an event loop
    nodes = _SceneNodes(ensemble)
    builder = StateGraph(
        SceneState, context_schema=SceneContext, input_schema=SceneInput, output_schema=SceneOutput
    )
    builder.add_node("begin", Node(_begin), input_schema=SceneInput)
    builder.add_node("events", Node(nodes.events))
    builder.add_node("direct", director_node(ensemble, seed_of=nodes.seed, persons_of=nodes.persons))
    builder.add_node("person", Node(nodes.person))
    builder.add_node("remember", remember_node(ensemble, seed_of=nodes.seed))
    builder.add_node("speak", speak_node(ensemble, seed_of=nodes.seed))
    builder.add_node("guard", guard_node(ensemble))
    builder.add_node("witness", Node(nodes.witness))
    builder.add_node("narrate", narrator_node(ensemble, seed_of=nodes.seed, persons_of=nodes.persons))
    builder.add_edge(START, "begin")
    # The previous call may have stopped right before the narrator's answer.
    builder.add_edge("begin", "narrate")
    builder.add_conditional_edges("events", nodes.after_events, ["witness", "direct", END])
    builder.add_conditional_edges("direct", nodes.after_direct, ["person", "remember", END])
    builder.add_conditional_edges("person", _after_person, ["witness", "direct"])
    builder.add_edge("remember", "speak")
    builder.add_edge("speak", "guard")
    builder.add_conditional_edges("guard", nodes.after_guard, ["speak", "witness"])
    builder.add_edge("witness", "narrate")
    builder.add_conditional_edges("narrate", _after_narrate, ["narrate", "events", END])
    return builder.compile(checkpointer=checkpointer, name=f"scene:{ensemble.loaded.scene.id}")


class _SceneNodes:
    """The nodes and conditional edges that depend on the scene."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self._loaded = ensemble.loaded
        self._scene = ensemble.loaded.scene

    def persons(self) -> tuple[str, ...]:
        persons = context_of(SceneContext).persons
        return tuple(seat.id for seat in self._scene.cast if seat.person) if persons is None else persons

    def seed(self) -> int:
        seed = context_of(SceneContext).seed
        return seed if seed is not None else self._scene.seed or 0

    def events(self, state: SceneState) -> dict[str, Any]:
        lines = state.get("lines") or []
        new = due_lines(self._loaded, lines)
        return {"lines": new, "ended": ending(self._scene, [*lines, *new]) or ""}

    def witness(self, state: SceneState) -> dict[str, Any]:
        lines = state["lines"]
        line = event_line(self._loaded, lines, _turn(self._loaded, state))
        counted = (state.get("turns") or 0) + 1
        over = ending(self._scene, [*lines, line]) or ""
        return {"lines": [line], "turns": counted, "ended": over, **_NOBODYS_TURN}

    def after_events(self, state: SceneState) -> str:
        if state.get("persons_line"):
            return "witness"
        return END if state.get("ended") else "direct"

    def after_direct(self, state: SceneState) -> str:
        speaker = state.get("speaker")
        if speaker is None:
            return "person" if self._ensemble.director_kind == "manual" else END
        return "person" if speaker in self.persons() else "remember"

    def after_guard(self, state: SceneState) -> str:
        attempts = state.get("attempts") or []
        again = needs_retry(self._ensemble, speaker_of(state), state["lines"], attempts)
        return "speak" if again else "witness"

    def person(self, state: SceneState) -> dict[str, Any]:
        """Interrupt for a person's line or choice of speaker; repeat after an invalid value."""
        seat, why = state.get("speaker"), state.get("why", "")
        while True:
            answer = interrupt({"seat": seat, "why": why})
            try:
                return self._resume_update(state, answer)
            except RoleLLMError as error:
                why = str(error)

    def _resume_update(self, state: SceneState, value: Any) -> dict[str, Any]:
        """The state update for the value with which a person resumed the call."""
        keys = set(value) if isinstance(value, dict) else set()
        if "next" in keys:
            check_present(self._loaded, value["next"], state["lines"])
            return {"called": value["next"]}
        if "pass" in keys:
            seat = state.get("speaker")
            return {"passed": [*(state.get("passed") or []), *([seat] if seat else [])], "called": None}
        if not keys >= {"seat", "kind", "text"}:
            raise MessageError(
                'This is not a line; resume with seat, kind and text, with "pass", or "next".'
            )
        _persons_turn(self._loaded, state["lines"], value)
        return {"persons_line": value}


def _after_person(state: SceneState) -> str:
    return "witness" if state.get("persons_line") else "direct"


def _after_narrate(state: SceneState) -> str:
    if state.get("narration_tries"):
        return "narrate"
    turns = context_of(SceneContext).turns
    over = state.get("ended") or (turns is not None and (state.get("turns") or 0) >= turns)
    return END if over else "events"


def _loaded(scene: LoadedScene | Scene | str | Path) -> LoadedScene:
    if isinstance(scene, LoadedScene):
        return scene
    return cast_scene(scene) if isinstance(scene, Scene) else load_scene(scene)


def _begin(given: SceneInput) -> dict[str, Any]:
    """Reset the state of the previous call, except for its lines."""
    request = {"persons_line": given.get("said"), "called": given.get("next")}
    return {**_NOBODYS_TURN, **request, "turns": 0, "ended": "", "narration_tries": 0}


_NOBODYS_TURN: dict[str, Any] = {
    "persons_line": None,
    "called": None,
    "speaker": None,
    "passed": [],
    "attempts": [],
    "summary": None,
}


def _turn(loaded: LoadedScene, state: SceneState) -> ScheduledEvent:
    """The line of the turn: a person's line, or the last attempt."""
    said = state.get("persons_line")
    if said:
        return _persons_turn(loaded, state["lines"], said)
    attempt = (state.get("attempts") or [])[-1]
    why, summary = state.get("why"), state.get("summary")
    made_by = {
        **attempt["made_by"],
        **({"why": why} if why else {}),
        **({"fault": attempt["fault"]} if attempt["fault"] else {}),
        **({"tries": tries} if (tries := len(state.get("attempts") or [])) > 1 else {}),
        **({"summary": dict(summary)} if summary else {}),
    }
    return ScheduledEvent(
        speaker_of(state), attempt["kind"], tuple(attempt["to"]), attempt["text"], made_by
    )


def _persons_turn(loaded: LoadedScene, lines: Sequence[SceneLine], said: PersonsLine) -> ScheduledEvent:
    seat, kind, text, to = said["seat"], said["kind"], said["text"].strip(), tuple(said.get("to") or ())
    kinds = loaded.scene.message_kinds
    if kind not in kinds:
        raise MessageError(f"There is no kind {kind!r}; kinds are {', '.join(kinds)}.")
    if kind == "join":
        return join_event(loaded, loaded.check_seat(seat), text)._replace(made_by={"person": True})
    if seat != NARRATOR:
        check_present(loaded, seat, lines)
    if kind == "leave":
        return leave_event(loaded, loaded.check_seat(seat), text)._replace(made_by={"person": True})
    if not text:
        raise MessageError("The message is empty; type some text.")
    addressed = kinds[kind].perceived_by == "addressees"
    if addressed and not {*present_in(loaded.scene, lines)} & {*to} - {seat}:
        raise MessageError(f"Nobody would hear this {kind}; name somebody who is present.")
    return ScheduledEvent(seat, kind, to, text, {"person": True})
