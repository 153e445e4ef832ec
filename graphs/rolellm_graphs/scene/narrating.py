"""The narrator's node, which tells the results of acts and the passing of time."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from rolellm_agents.models.separated import separated
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.scene import NARRATOR, LoadedScene, Scene, SceneLine
from rolellm_agents.scene.events import ScheduledEvent, event_line
from rolellm_agents.scene.guards import narration_fault
from rolellm_agents.scene.scene import Narrator
from rolellm_agents.scene.stopping import ending
from rolellm_agents.scene.turns import is_seat_line, seed_for, turns
from rolellm_agents.scene.view import render_line
from rolellm_agents.scene.witness import present_in
from rolellm_graphs.role.model_node import ModelNode, ModelRequest
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.speaking import RETRIES
from rolellm_graphs.scene.state import SceneState

_LOOKED_BACK = 12
"""Number of latest lines in the narrator's prompt."""
_NARRATION = 120
"""Limit of a narration in tokens."""


def narrator_node(
    ensemble: Ensemble, *, seed_of: Callable[[], int], persons_of: Callable[[], Collection[str]]
) -> ModelNode:
    """The node `narrate`: if the scene has a narrator, narrates after an act or a number of turns.

    The prompt contains only lines that all present seats witnessed, so the narrator cannot reveal secrets.
    A faulty narration is tried once more, and then left out.

    A person in the narrator's seat narrates instead.
    """
    loaded = ensemble.loaded
    scene = loaded.scene

    def ask(state: SceneState) -> ModelRequest | dict[str, Any]:
        lines = state.get("lines") or []
        if scene.narrator is None or NARRATOR in persons_of() or not _is_due(scene, scene.narrator, lines):
            return {}
        instruction = load_prompt("scene-narrator", scene.language).fill(
            setting=scene.setting, time=scene.time, about=scene.narrator.about
        )
        history = "\n".join(render_line(loaded, line) for line in _known_to_all(scene, lines))
        messages = [SystemMessage(instruction), HumanMessage(history)]
        tries = state.get("narration_tries") or 0
        seed = seed_for(seed_of(), "narrator", len(turns(lines)), *([tries] if tries else []))
        narrator = separated(ensemble.narrator)
        return ModelRequest(narrator, messages, {"max_tokens": _NARRATION, "seed": seed}, narrator)

    def take(state: SceneState, answer: AIMessage) -> dict[str, Any]:
        if not answer.text.strip():
            return {"narration_tries": 0}
        tries = (state.get("narration_tries") or 0) + 1
        usage = {"usage": dict(answer.usage_metadata or {})}
        line = narration_line(loaded, state["lines"], answer.text, tries=tries, made_by=usage)
        if line is None:
            return {"narration_tries": tries if tries <= RETRIES else 0}
        return {"lines": [line], "narration_tries": 0}

    return ModelNode(ask, take, name="narrate")


def narration_line(
    loaded: LoadedScene, lines: Sequence[SceneLine], answer: str, *, tries: int, made_by: Mapping[str, Any]
) -> SceneLine | None:
    """The line of a narrator's answer; None if the answer is empty or has a fault.

    Args:
        loaded: the scene.
        lines: all lines before it.
        answer: the model's text.
        tries: how many answers the narrator gave, including this one.
        made_by: further provenance of the line.
    """
    text = " ".join(answer.split())
    read = _known_to_all(loaded.scene, lines)
    if not text or narration_fault(text, lines=read, names=loaded.names, language=loaded.scene.language):
        return None
    provenance = {**made_by, **({"tries": tries} if tries > 1 else {})}
    return event_line(loaded, lines, ScheduledEvent(NARRATOR, "narrate", (), text, provenance))


def _known_to_all(scene: Scene, lines: Sequence[SceneLine]) -> list[SceneLine]:
    """The latest lines that all present seats witnessed."""
    there = set(present_in(scene, lines))
    return [line for line in lines if there <= set(line["audience"])][-_LOOKED_BACK:]


def _is_due(scene: Scene, narrator: Narrator, lines: Sequence[SceneLine]) -> bool:
    """Whether the narrator has to follow the last line; False if the last line is a narration."""
    if not lines or not is_seat_line(lines[-1]) or "opening" in lines[-1]["made_by"]:
        return False
    acted = narrator.answers and lines[-1]["kind"] == "act"
    moves = narrator.every and len(turns(lines)) % narrator.every == 0
    return bool(acted or moves) and not ending(scene, lines)
