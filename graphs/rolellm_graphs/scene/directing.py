"""The director's node, which chooses who speaks next. Two of the built-in directors call models."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Literal, get_args

from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel
from pydantic import BaseModel, Field, create_model

from rolellm_agents.errors import SceneError
from rolellm_agents.models.forms import fill_form
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.scene.directors import DIRECTORS, DirectorFunction, director_named
from rolellm_agents.scene.directors.situation import NextSpeaker, Situation
from rolellm_agents.scene.events import check_present
from rolellm_agents.scene.scene import DirectorKind
from rolellm_agents.scene.summaries import latest_summary
from rolellm_agents.scene.turns import last_speaker, random_for, turns
from rolellm_agents.scene.view import history_for, instruction_for, render_line, turn_cue
from rolellm_agents.scene.witness import present_in
from rolellm_graphs.role.model_node import ModelNode, ModelRequest
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.state import SceneState

_LOOKED_BACK = 12
"""Number of latest lines in the prompt of the director's model."""
_UNBIDDEN = 5
"""The bid of people, and of models whose bid cannot be parsed."""


class Bid(BaseModel):
    """How much a character wants to speak."""

    want: int = Field(ge=0, le=9)


def director_node(
    ensemble: Ensemble, *, seed_of: Callable[[], int], persons_of: Callable[[], Collection[str]]
) -> ModelNode:
    """The node `direct`: sets `speaker` and `why`, or leaves `speaker` None; then it may set `ended`.

    Models do not bid for the seats of people.
    """
    kind = ensemble.director_kind
    provided = _provided_director(ensemble)

    def situation(state: SceneState) -> Situation | NextSpeaker:
        return _situation(ensemble, state, seed_of())

    def chosen(choice: NextSpeaker) -> dict[str, Any]:
        update: dict[str, Any] = {"speaker": choice.seat, "why": choice.why}
        # Without a speaker a manual director waits for a person; all others end the scene.
        return update if choice.seat or kind == "manual" else {**update, "ended": choice.why}

    def ask(state: SceneState) -> ModelRequest | dict[str, Any]:
        found = situation(state)
        if isinstance(found, NextSpeaker):
            return chosen(found)
        if provided:
            # An asynchronous graph calls it in a thread, because it may block.
            return ModelRequest(RunnableLambda(provided), found, {})
        if kind and kind in DIRECTORS:
            return chosen(DIRECTORS[kind](found))
        if len(found.present) == 1:
            return chosen(NextSpeaker(seat=found.present[0], why="Nobody else is there."))
        return _choosing(ensemble, found) if kind == "model" else _bidding(ensemble, found, persons_of())

    def take(state: SceneState, answer: Any) -> dict[str, Any]:
        found = situation(state)
        if isinstance(found, NextSpeaker):
            return chosen(found)
        choose = _checked if provided else _highest if kind == "bidding" else _named
        return chosen(choose(ensemble, found, answer))

    return ModelNode(ask, take, name="direct")


def _provided_director(ensemble: Ensemble) -> DirectorFunction | None:
    """A custom director: the ensemble's function, or the entry point that the scene names."""
    kind = ensemble.director_kind
    if kind is None:
        return ensemble.choose_speaker
    return None if kind in get_args(DirectorKind) else director_named(kind)


def _checked(_ensemble: Ensemble, found: Situation, answer: Any) -> NextSpeaker:
    """Validate the choice of a custom director.

    Raises:
        SceneError: the answer is no `NextSpeaker`, or its seat is not present.
    """
    if not isinstance(answer, NextSpeaker):
        raise SceneError(f"The director returned {answer!r}; it must return a NextSpeaker.")
    if answer.seat is not None and answer.seat not in found.present:
        raise SceneError(
            f"The director chose {answer.seat!r}, who is not present; it must choose one of "
            f"{', '.join(found.present)}, or None to end the scene."
        )
    return answer


def _situation(ensemble: Ensemble, state: SceneState, seed: int) -> Situation | NextSpeaker:
    """The director's input, or the choice if there is nothing to decide."""
    scene, passed = ensemble.loaded.scene, state.get("passed") or []
    present = tuple(one for one in present_in(scene, state["lines"]) if one not in passed)
    if called := state.get("called"):
        return NextSpeaker(seat=check_present(ensemble.loaded, called, state["lines"]), why="You chose.")
    if not present:
        return NextSpeaker(seat=None, why="Nobody who is present wants to speak.")
    turn = len(turns(state["lines"]))
    return Situation(
        scene=scene,
        lines=state["lines"],
        present=present,
        turn=turn,
        chance=random_for(seed, "director", turn, len(passed)),
    )


def _choosing(ensemble: Ensemble, found: Situation) -> ModelRequest:
    """A request to the director's model, with only those lines that all present seats witnessed."""
    loaded = ensemble.loaded
    language = loaded.scene.language
    present = set(present_in(loaded.scene, found.lines))
    shared = [line for line in found.lines if present <= set(line["audience"])]
    names = [loaded.names[seat] for seat in _others(found)]
    prompt = load_prompt("scene-director", language).fill(
        setting=loaded.scene.setting,
        present=", ".join(names),
        lines="\n".join(render_line(loaded, line) for line in shared[-_LOOKED_BACK:]),
    )
    form = create_model("Next", next=(Literal[tuple(names)], ...))  # type: ignore[arg-type]
    filling = _filling(ensemble.director, form)
    return ModelRequest(filling, [HumanMessage(prompt)], {}, ensemble.director)


def _named(ensemble: Ensemble, found: Situation, answer: Any) -> NextSpeaker:
    seats = {ensemble.loaded.names[seat]: seat for seat in found.present}
    if answer is not None and answer.next in seats:
        return NextSpeaker(seat=seats[answer.next], why="The director's model chose.")
    fallback = DIRECTORS["natural"](found)
    return NextSpeaker(
        seat=fallback.seat, why=f"The director's model named nobody who is present. {fallback.why}"
    )


def _bidding(ensemble: Ensemble, found: Situation, persons: Collection[str]) -> ModelRequest:
    asked = [seat for seat in _others(found) if seat not in persons]
    model = ensemble.voices[asked[0]].model if asked else None
    return ModelRequest(_bids(ensemble, found, asked), None, {}, model)


def _bids(ensemble: Ensemble, found: Situation, seats: Sequence[str]) -> Runnable[Any, Any]:
    """Request bids from all seats concurrently, each with its own view of the scene."""
    return RunnableParallel({seat: RunnableLambda(partial(_bid, ensemble, found, seat)) for seat in seats})


def _bid(ensemble: Ensemble, found: Situation, seat: str, _: Any) -> Bid | None:
    loaded, voice = ensemble.loaded, ensemble.voices[seat]
    *before, last = history_for(loaded, seat, found.lines, latest_summary(found.lines, seat))
    asked = load_prompt("scene-bid", loaded.scene.language).fill(name=loaded.names[seat])
    known = instruction_for(loaded, seat, found.lines)
    seen = last.text.removesuffix(turn_cue(loaded, seat))  # it is nobody's turn yet
    prompt = voice.prompting.compose(before, [], f"{seen}{asked}", scene=known)
    return fill_form(voice.model, Bid, prompt)


def _highest(ensemble: Ensemble, found: Situation, bids: dict[str, Bid | None]) -> NextSpeaker:
    read = {seat: bid.want for seat, bid in bids.items() if bid}
    wants = {seat: read.get(seat, _UNBIDDEN) for seat in _others(found)}
    most = max(wants.values())
    first = found.chance.choice([seat for seat, want in wants.items() if want == most])
    return NextSpeaker(seat=first, why=f"{ensemble.loaded.names[first]} wants to speak most ({most} of 9).")


def _others(found: Situation) -> list[str]:
    """The present seats without the last speaker; all of them if there is nobody else."""
    last = last_speaker(found.lines)
    return [seat for seat in found.present if seat != last] or list(found.present)


def _filling(model: Any, form: Any) -> Runnable[Any, Any]:
    return RunnableLambda(lambda messages: fill_form(model, form, messages))
