"""A scene that was recorded, played again: from its tape, or by models, the same or others."""

import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel

from rolellm_agents.models.catalog import get_model
from rolellm_agents.scene import NARRATOR, SceneLine, line_of
from rolellm_agents.scene.run_file import RunFile, RunLine, run_line
from rolellm_agents.scene.turns import turns
from rolellm_agents.transcript import Transcript
from rolellm_graphs.events import SceneEvent, TurnFailed
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.run import owed_narration
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine
from rolellm_graphs.scene.tape import TapeChatModel

_SAME = ("turn", "speaker", "kind", "audience", "text")
"""What makes two lines the same; how long they took does not."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A recorded scene beside what came when it was played again."""

    recorded: Sequence[RunLine]
    played: Sequence[RunLine]

    @property
    def first_difference(self) -> int | None:
        """The place of the first line that is another one; None when both are the same."""
        for place, (one, other) in enumerate(zip(self.recorded, self.played, strict=False)):
            if any(one[key] != other[key] for key in _SAME):  # type: ignore[literal-required]
                return place
        shorter = min(len(self.recorded), len(self.played))
        return None if len(self.recorded) == len(self.played) else shorter


class TapedEnsemble(Ensemble):
    """Players that say what was recorded, and forget what was summed up then.

    A tape cannot count tokens as the model did, so when a seat's view was too long is read off the record.
    """

    def __init__(self, record: RunFile) -> None:
        """Put the tape of a run in every seat.

        Args:
            record: the run.
        """
        tape = TapeChatModel.of(call for line in record.records for call in line.get("calls", ()))
        steady = tape.model_copy(update={"temperature": 0.0})
        again = {line["speaker"] for line in record.records if _asked(line, "speak") > 1}
        super().__init__(
            record.loaded,
            models={seat: tape if seat in again else steady for seat in record.loaded.seats},
            strategy=_strategy_of(record),
            make=lambda _spec, **_: tape,
        )
        self.forgets = 0
        """Lines that the next speaker is to have a summary of, beside those that have gone into one."""
        self._counted = 0

    def room(self, seat: str) -> int:
        """As much as there is, or none when lines are to be forgotten; the lines are counted after it."""
        self._counted = 0
        return 0 if self.forgets else sys.maxsize

    def count(self, seat: str, text: str) -> int:
        """1 for each line that is to be forgotten, and then nothing."""
        self._counted += 1
        return int(self._counted <= self.forgets)


def live_ensemble(
    record: RunFile, model: str | None = None, make: Callable[..., BaseChatModel] = get_model
) -> Ensemble:
    """Players as they were recorded, or one model in all seats.

    Raises:
        ModelError: there is no such model.
    """
    seats = record.loaded.seats
    recorded = {seat: spec for seat, spec in record.models.items() if spec and seat in seats}
    return Ensemble(
        record.loaded,
        model=model or record.models.get(NARRATOR),
        models=dict.fromkeys(seats, model) if model else recorded,
        strategy=_strategy_of(record),
        make=make,
    )


async def replay(
    record: RunFile,
    ensemble: Ensemble,
    on_line: Callable[[RunLine], None] = lambda _line: None,
) -> Replay:
    """Play as many turns again as were recorded; what people did, they do again.

    Where people were there, whose turn it was depends on them too, so the recorded speakers speak.

    Args:
        record: the run.
        ensemble: who plays now.
        on_line: is told each line as it comes.

    Raises:
        RoleLLMError: a model failed, or the tape does not fit.
    """
    doings = _doings(record)
    people = any(_is_peoples(line) for line in doings)
    told = people or record.loaded.scene.director.kind == "manual"
    narrates = any(_is_peoples(line) and line["speaker"] == NARRATOR for line in doings)
    summaries: dict[str, int] = {}
    played: list[RunLine] = []
    so_far: list[SceneLine] = []
    with Transcript(None) as transcript:
        stage = Stage(ensemble, transcript, seed=record.seed, persons=(NARRATOR,) if narrates else ())
        for doing in doings:
            before = len(stage.messages)
            if isinstance(ensemble, TapedEnsemble):
                ensemble.forgets = _forgotten(doing, summaries)
            await _do(stage, doing, told=told)
            if len(stage.messages) == before:
                break
            for message in stage.messages[before:]:
                so_far = [*so_far, line_of(message)]
                line = run_line(ensemble.loaded, message, turn=len(turns(so_far)))
                played.append(line)
                on_line(line)
    recorded = _whole_turns(record)
    return Replay(recorded=recorded, played=played[: len(recorded)] if owed_narration(record) else played)


async def _do(stage: Stage, doing: SceneLine, *, told: bool) -> None:
    """Let happen what was done."""
    seat, kind, text = doing["speaker"], doing["kind"], doing["text"]
    if kind == "join":
        stage.let_in(seat, text)
    elif kind == "leave":
        stage.let_out(seat, text)
    elif _is_peoples(doing):
        to = [one for one in doing["audience"] if one != seat]
        await _listen(stage.say(PersonsLine(seat=seat, kind=kind, to=to, text=text)))
    else:
        await _listen(stage.step(speaker=seat if told else None))


async def _listen(events: AsyncGenerator[SceneEvent, None]) -> None:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TurnFailed):
                raise event.error


def _doings(record: RunFile) -> list[SceneLine]:
    """What somebody did; all else happens by itself, and does so again."""
    taken = {line["id"] for line in turns(record.lines)}
    return [line for line in record.lines if line["id"] in taken or _is_peoples(line)]


def _is_peoples(line: SceneLine) -> bool:
    """Whether people did it; who comes or goes without an event was let in or out by them."""
    by_hand = line["kind"] in ("join", "leave") and "event" not in line["made_by"]
    return by_hand or bool(line["made_by"].get("person"))


def _whole_turns(record: RunFile) -> list[RunLine]:
    """The lines without those of a turn at the end that was cut off before anybody spoke."""
    records = [*record.records]
    while records and {"opening", "event"} & set(record.lines[len(records) - 1]["made_by"]):
        records.pop()
    return records


def _forgotten(doing: SceneLine, summaries: dict[str, int]) -> int:
    """How many lines went into a summary before this turn; notes in `summaries` how many have by then."""
    summary: Mapping[str, int] = doing["made_by"].get("summary") or {}
    before = summaries.get(doing["speaker"], 0)
    summaries[doing["speaker"]] = summary.get("lines", before)
    return summaries[doing["speaker"]] - before


def _asked(line: RunLine, by: str) -> int:
    return sum(call["by"] == by for call in line.get("calls", ()))


def _strategy_of(record: RunFile) -> str | None:
    """That of those who have none of their own."""
    seats = record.loaded.seats
    told = (
        line.get("made_by", {}).get("strategy")
        for line in record.records
        if line["speaker"] in seats and not seats[line["speaker"]].strategy
    )
    return next((one for one in told if one), None)
