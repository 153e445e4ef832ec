"""Replays a recorded scene, from its tape or with models."""

import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel

from rolellm_agents.errors import SceneError, TrustError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.scene import NARRATOR, SceneLine, agreed, line_of
from rolellm_agents.scene.directors import DirectorFunction
from rolellm_agents.scene.file_models import shown_models
from rolellm_agents.scene.run_file import RunFile, RunLine, run_line
from rolellm_agents.scene.turns import turns
from rolellm_agents.text import one_line
from rolellm_agents.transcript import Transcript
from rolellm_graphs.events import SceneEvent, TurnFailed
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.run import missing_narration
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine
from rolellm_graphs.scene.tape import TapeChatModel

_SAME = ("turn", "speaker", "kind", "audience", "text")
"""The keys by which lines are compared; durations differ between replays."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A recorded scene and its replay."""

    recorded: Sequence[RunLine]
    played: Sequence[RunLine]

    @property
    def first_difference(self) -> int | None:
        """The index of the first line that differs; None if all lines are the same."""
        for place, (one, other) in enumerate(zip(self.recorded, self.played, strict=False)):
            if any(one[key] != other[key] for key in _SAME):  # type: ignore[literal-required]
                return place
        shorter = min(len(self.recorded), len(self.played))
        return None if len(self.recorded) == len(self.played) else shorter


class TapedEnsemble(Ensemble):
    """An ensemble whose models return the recorded answers, with summaries at the recorded turns.

    A tape has no tokenizer to decide when a seat needs a summary, so the decision is read from the record.
    """

    def __init__(self, record: RunFile, *, director: DirectorFunction | None = None) -> None:
        """Use the tape of a run for every seat.

        Args:
            record: the recorded run.
            director: the function that directed the run, if it was directed by one without a name.

        Raises:
            SceneError: a function directed the run, and none is given.
        """
        _check_director(record, director)
        tape = TapeChatModel.of(call for line in record.records for call in line.get("calls", ()))
        steady = tape.model_copy(update={"temperature": 0.0})
        again = {line["speaker"] for line in record.records if _asked(line, "speak") > 1}
        super().__init__(
            agreed(record.loaded),  # the tape answers for all models
            models={seat: tape if seat in again else steady for seat in record.loaded.seats},
            director=director,
            strategy=_strategy_of(record),
            make=lambda _spec, **_: tape,
        )
        self.forgets = 0
        """The number of lines that the next speaker's new summary adds to the previous one."""
        self._counted = 0

    def room(self, seat: str) -> int:
        """No limit, or 0 if the record has a new summary here; the lines are counted after this call."""
        self._counted = 0
        return 0 if self.forgets else sys.maxsize

    def count(self, seat: str, text: str) -> int:
        """1 for each line that goes into the new summary, then 0."""
        self._counted += 1
        return int(self._counted <= self.forgets)


def live_ensemble(
    record: RunFile,
    model: str | None = None,
    make: Callable[..., BaseChatModel] = get_model,
    *,
    director: DirectorFunction | None = None,
) -> Ensemble:
    """An ensemble of the recorded models, or of one model in all seats.

    Args:
        record: the recorded run.
        model: the model of all seats; None for the recorded ones.
        make: creates models from specs.
        director: the function that directed the run, if it was directed by one without a name.

    Raises:
        ModelError: there is no such model.
        SceneError: a function directed the run, and none is given.
        TrustError: the record comes from elsewhere, nobody has agreed to its models, and `model` is None.
    """
    _check_director(record, director)
    if record.foreign is not None and model is None:
        raise TrustError(
            f"{record.foreign.path} comes from elsewhere and names models to which you have not agreed "
            f"({shown_models(record.named_models)}); name a model yourself, or agree to them, in a program "
            "with RunFile.agreed()."
        )
    seats = record.loaded.seats
    recorded = {seat: spec for seat, spec in record.models.items() if spec and seat in seats}
    return Ensemble(
        record.loaded,
        model=model or record.models.get(NARRATOR),
        models=dict.fromkeys(seats, model) if model else recorded,
        director=director,
        strategy=_strategy_of(record),
        make=make,
    )


async def replay(
    record: RunFile,
    ensemble: Ensemble,
    on_line: Callable[[RunLine], None] = lambda _line: None,
) -> Replay:
    """Replay the recorded number of turns, with the recorded lines of people.

    If the record has lines of people, the speakers are also taken from it instead of from the director,
    because people may have chosen them.

    `on_line` is called with each new line.

    Raises:
        RoleLLMError: a model failed, or the tape does not fit.
    """
    to_replay = _lines_to_replay(record)
    people = any(_is_peoples(line) for line in to_replay)
    fixed_speaker = people or record.loaded.scene.director.kind == "manual"
    narrates = any(_is_peoples(line) and line["speaker"] == NARRATOR for line in to_replay)
    summaries: dict[str, int] = {}
    played: list[RunLine] = []
    so_far: list[SceneLine] = []
    with Transcript(None) as transcript:
        stage = Stage(ensemble, transcript, seed=record.seed, persons=(NARRATOR,) if narrates else ())
        for line_to_replay in to_replay:
            before = len(stage.messages)
            if isinstance(ensemble, TapedEnsemble):
                ensemble.forgets = _forgotten(line_to_replay, summaries)
            await _do(stage, line_to_replay, fixed_speaker=fixed_speaker)
            if len(stage.messages) == before:
                break
            for message in stage.messages[before:]:
                so_far = [*so_far, line_of(message)]
                line = run_line(ensemble.loaded, message, turn=len(turns(so_far)))
                played.append(line)
                on_line(line)
    recorded = _whole_turns(record)
    return Replay(
        recorded=recorded, played=played[: len(recorded)] if missing_narration(record) else played
    )


async def _do(stage: Stage, line: SceneLine, *, fixed_speaker: bool) -> None:
    """Replay one line: add a person's line, or play a turn."""
    seat, kind, text = line["speaker"], line["kind"], line["text"]
    if kind == "join":
        stage.let_in(seat, text)
    elif kind == "leave":
        stage.let_out(seat, text)
    elif _is_peoples(line):
        to = [one for one in line["audience"] if one != seat]
        await _run_to_end(stage.say(PersonsLine(seat=seat, kind=kind, to=to, text=text)))
    else:
        await _run_to_end(stage.step(speaker=seat if fixed_speaker else None))


async def _run_to_end(events: AsyncGenerator[SceneEvent, None]) -> None:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TurnFailed):
                raise event.error


def _check_director(record: RunFile, director: DirectorFunction | None) -> None:
    if record.director and director is None:
        raise SceneError(
            f"{one_line(record.director, 120)} directed this run, a function that files cannot name; pass "
            "it as `director` in Python, or give it a name as an entry point and record the run again."
        )


def _lines_to_replay(record: RunFile) -> list[SceneLine]:
    """The lines to replay; the scene adds all others, such as scheduled events, by itself."""
    taken = {line["id"] for line in turns(record.lines)}
    return [line for line in record.lines if line["id"] in taken or _is_peoples(line)]


def _is_peoples(line: SceneLine) -> bool:
    """Whether a person caused the line, also by letting a seat in or out without a scheduled event."""
    by_hand = line["kind"] in ("join", "leave") and "event" not in line["made_by"]
    return by_hand or bool(line["made_by"].get("person"))


def _whole_turns(record: RunFile) -> list[RunLine]:
    """The lines without scheduled events at the end that no turn follows."""
    records = [*record.records]
    while records and {"opening", "event"} & set(record.lines[len(records) - 1]["made_by"]):
        records.pop()
    return records


def _forgotten(line: SceneLine, summaries: dict[str, int]) -> int:
    """The number of lines that this turn's summary adds; updates the seat's total in `summaries`."""
    summary: Mapping[str, int] = line["made_by"].get("summary") or {}
    before = summaries.get(line["speaker"], 0)
    summaries[line["speaker"]] = summary.get("lines", before)
    return summaries[line["speaker"]] - before


def _asked(line: RunLine, by: str) -> int:
    return sum(call["by"] == by for call in line.get("calls", ()))


def _strategy_of(record: RunFile) -> str | None:
    """The recorded strategy of seats without their own."""
    seats = record.loaded.seats
    strategies = (
        line.get("made_by", {}).get("strategy")
        for line in record.records
        if line["speaker"] in seats and not seats[line["speaker"]].strategy
    )
    return next((strategy for strategy in strategies if strategy), None)
