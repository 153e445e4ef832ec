"""The nodes of a character's turn: summarize old lines, speak, and check the answer."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from rolellm_agents.models.local import LocalModel
from rolellm_agents.models.separated import separated
from rolellm_agents.prompting.summary import SUMMARY_TOKENS
from rolellm_agents.scene import LoadedScene, SceneLine
from rolellm_agents.scene.guards import cut_at_marks, cut_at_others, fault_in
from rolellm_agents.scene.line import Summary
from rolellm_agents.scene.summaries import SummaryRequest, latest_summary, summary_needed
from rolellm_agents.scene.turns import seed_for, turns
from rolellm_agents.scene.utterances import Utterance, parse_utterance
from rolellm_agents.scene.view import history_for, instruction_for, known_names
from rolellm_agents.scene.witness import present_in, witnessed
from rolellm_graphs.chat.recording import final_provenance
from rolellm_graphs.role.context import RoleContext
from rolellm_graphs.role.graph import RoleInput
from rolellm_graphs.role.model_node import ModelNode, ModelRequest, Node
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.state import Attempt, SceneState

RETRIES = 1
"""The most retries of a faulty answer; the last attempt becomes the line."""

_STREAMED_KEYS = ["messages", "recalled", "lore", "prompt"]
"""Keys that the role graph streams; by default LangGraph streams only the output of an inner graph."""

_RETRIED = 0.2
"""The most turns with retries, as a share of all turns; limits the cost of models that stay faulty."""
_FREE_RETRIES = 2
"""Turns with retries that are always allowed, since the share of a few turns says little."""
_AGAINST_LOOPS = {"dry_multiplier": 0.8}
"""Small models tend to repeat other characters' words, so llama.cpp's DRY sampler is on by default."""
_NOTHING = "…"
"""The line for an empty answer."""


def remember_node(ensemble: Ensemble, *, seed_of: Callable[[], int]) -> ModelNode:
    """The node `remember`: sets `summary` if the speaker's history no longer fits into the prompt."""

    def needed(state: SceneState) -> SummaryRequest | None:
        seat = speaker_of(state)
        return summary_needed(
            ensemble.loaded,
            seat,
            state["lines"],
            room=ensemble.room(seat),
            count=lambda text: ensemble.count(seat, text),
        )

    def ask(state: SceneState) -> ModelRequest | dict[str, Any]:
        request = needed(state)
        if request is None:
            return {"summary": None}
        seat = speaker_of(state)
        seed = seed_for(seed_of(), "summary", len(turns(state["lines"])), seat)
        options = {"max_tokens": SUMMARY_TOKENS, "seed": seed}
        model = separated(ensemble.voices[seat].model)
        return ModelRequest(model, request.messages, options, model)

    def take(state: SceneState, answer: AIMessage) -> dict[str, Any]:
        request = needed(state)
        text = answer.text.strip()
        if request is None or not text:
            return {"summary": None}
        return {"summary": Summary(text=text, lines=request.lines)}

    return ModelNode(ask, take, name="remember")


def speak_node(ensemble: Ensemble, *, seed_of: Callable[[], int]) -> ModelNode:
    """The node `speak`: runs the role graph on the lines that the speaker witnessed; adds to `attempts`."""

    def ask(state: SceneState) -> ModelRequest:
        seat = speaker_of(state)
        voice = ensemble.voices[seat]
        said = RoleInput(messages=_view(ensemble, state, seat), lore=_lore_of(state["lines"], seat))
        context = RoleContext(
            seed=_seed(state, seed_of()),
            scene=instruction_for(ensemble.loaded, seat, state["lines"]),
            stop=_stops(ensemble, state, seat),
            sampling=_AGAINST_LOOPS if getattr(voice.model, "dry_multiplier", None) == 0 else {},
        )
        return ModelRequest(voice.graph, said, {"context": context, "output_keys": _STREAMED_KEYS})

    def take(state: SceneState, answer: dict[str, Any]) -> dict[str, Any]:
        seat = speaker_of(state)
        voice, message = ensemble.voices[seat], answer["messages"][-1]
        attempt = Attempt(
            kind="say",
            to=[],
            text=message.text,
            fault="",
            made_by={
                "model": voice.model_name,
                "strategy": voice.strategy,
                "seed": _seed(state, seed_of()),
                "usage": dict(message.usage_metadata or {}),
                **final_provenance(message),
                **({"lore": answer["lore"]} if answer.get("lore") else {}),
            },
        )
        return {"attempts": [*(state.get("attempts") or []), attempt]}

    return ModelNode(ask, take, name="speak")


def guard_node(ensemble: Ensemble) -> Node:
    """The node `guard`: parses the last attempt and labels its fault."""

    def guard(state: SceneState) -> dict[str, Any]:
        *before, last = state.get("attempts") or []
        return {"attempts": [*before, checked(ensemble.loaded, speaker_of(state), state["lines"], last)]}

    return Node(guard)


def checked(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine], attempt: Attempt) -> Attempt:
    """The attempt with its parsed kind, addressees and text, and its fault, if any."""
    others = known_names(loaded, seat, lines)
    own = [loaded.names[seat]]
    cut = cut_at_others(attempt["text"], own, [*others.values()])
    there = present_in(loaded.scene, lines)
    addressees = {one: name for one, name in others.items() if one in there}
    utterance = parse_utterance(cut, loaded.scene.turn_kinds, addressees, own)
    kind = loaded.kinds[utterance.kind]
    fault = fault_in(
        utterance.text,
        speaker=seat,
        lines=witnessed(lines, seat),
        names={**others, seat: own[0]},
        language=loaded.scene.language,
        kind=kind,
        turn_kinds=loaded.scene.turn_kinds,
        about=loaded.personas[seat].description,
    )
    # Whispers and thoughts must not reach all seats, even if the faulty answer becomes the line.
    aloud = kind.perceived_by == "everyone"
    text = cut_at_marks(utterance.text, others, loaded.scene.turn_kinds) if aloud else utterance.text
    return {
        **attempt,
        "kind": utterance.kind,
        "to": list(utterance.to),
        "text": text or _NOTHING,
        "fault": fault or "",
    }


def broken_off(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine], utterance: Utterance) -> str:
    """The usable part of an interrupted line, cut before other speakers' lines."""
    others = known_names(loaded, seat, lines)
    text = cut_at_others(utterance.text, [loaded.names[seat]], [*others.values()])
    aloud = loaded.kinds[utterance.kind].perceived_by == "everyone"
    return cut_at_marks(text, others, loaded.scene.turn_kinds) if aloud else text


def addressee_names(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine]) -> dict[str, str]:
    """The names of the present characters to whom a seat can whisper, by their seats."""
    there = present_in(loaded.scene, lines)
    return {one: name for one, name in known_names(loaded, seat, lines).items() if one in there}


def needs_retry(
    ensemble: Ensemble, seat: str, lines: Sequence[SceneLine], attempts: Sequence[Attempt]
) -> bool:
    """Whether the last attempt has a fault and may be retried.

    `lines` are those before this turn, `attempts` those of this turn.
    """
    if not attempts[-1]["fault"] or len(attempts) > RETRIES:
        return False
    again = sum("tries" in line["made_by"] for line in lines)
    if again + 1 > max(_FREE_RETRIES, _RETRIED * (len(turns(lines)) + 1)):
        return False
    # A greedy model would repeat its answer.
    return getattr(ensemble.voices[seat].model, "temperature", None) != 0


def speaker_of(state: SceneState) -> str:
    """The seat of the current speaker."""
    speaker = state.get("speaker")
    if speaker is None:
        raise ValueError("nobody was chosen to speak")
    return speaker


def _view(ensemble: Ensemble, state: SceneState, seat: str) -> list[AnyMessage]:
    summary = state.get("summary") or latest_summary(state["lines"], seat)
    return history_for(ensemble.loaded, seat, state["lines"], summary)


def _seed(state: SceneState, seed: int) -> int:
    tries = len(state.get("attempts") or [])
    return seed_for(seed, "speaker", len(turns(state["lines"])), speaker_of(state), tries)


def _stops(ensemble: Ensemble, state: SceneState, seat: str) -> tuple[str, ...]:
    """The beginnings of other characters' lines; none for servers, which allow few stop sequences."""
    if not isinstance(ensemble.voices[seat].model, LocalModel):
        return ()
    names = known_names(ensemble.loaded, seat, state["lines"]).values()
    colon = "：" if ensemble.loaded.scene.language == "zh" else ":"
    return tuple(f"\n{name}{colon}" for name in names)


def _lore_of(lines: Sequence[SceneLine], seat: str) -> dict[str, Any]:
    """The timed effects of a seat's lorebook after its latest line."""
    kept = (line["made_by"].get("lore") for line in reversed(lines) if line["speaker"] == seat)
    return next((lore for lore in kept if isinstance(lore, dict)), {})
