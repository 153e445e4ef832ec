"""A recorded scene, played again from its tape and by models."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.hypotheses import examples
from helpers.improvising_model import improvising
from helpers.small_scene import NAMES, PRIVATE, small_scene
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ModelError, SceneError
from rolellm_agents.scene import agreed, cast_scene, load_scene
from rolellm_agents.scene.directors import NextSpeaker, Situation
from rolellm_agents.scene.run_file import RunFile, RunLine, as_text, first_line, read_run_file, run_line
from rolellm_agents.scene.turns import turns
from rolellm_agents.transcript import Transcript
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.replay import Replay, TapedEnsemble, live_ensemble, replay
from rolellm_graphs.scene.stage import Stage
from rolellm_graphs.scene.state import PersonsLine

Doing = PersonsLine | tuple[str, str] | str | None
"""A person's line; who comes or goes, as `("in", SEAT)`; who is told to speak; None for a turn."""
MODEL = "improvising:one"


async def _record(
    scene: Path, doings: Sequence[Doing], *, seed: int = 0, persons: Sequence[str] = (), **options: Any
) -> list[RunLine]:
    ensemble = Ensemble(agreed(load_scene(scene)), **{"model": MODEL, **options})
    loaded = ensemble.loaded
    models = {seat: voice.model_name for seat, voice in ensemble.voices.items()}
    models["narrator"] = options.get("model", MODEL)
    written = [first_line(loaded, seed, models, director=options.get("director"))]
    with Transcript(None) as transcript:
        stage = Stage(ensemble, transcript, seed=seed, persons=persons)
        for doing in doings:
            before = len(stage.messages)
            if isinstance(doing, tuple):
                (stage.let_in if doing[0] == "in" else stage.let_out)(doing[1])
            else:
                events = stage.say(doing) if isinstance(doing, dict) else stage.step(speaker=doing)
                async for _ in events:
                    pass
            calls = list(stage.calls)
            for place, message in enumerate(stage.messages[before:], before + 1):
                over = turns(stage.lines[:place])
                is_turn = bool(over) and over[-1] == stage.lines[place - 1]
                mine = calls if is_turn else []
                written.append(run_line(loaded, message, turn=len(over), calls=mine))
    return written


def recorded(folder: Path, doings: Sequence[Doing] = (None,) * 8, **options: Any) -> RunFile:
    """A run that was written to a file and read from it."""
    changes = options.pop("changes", {})
    scene = small_scene(folder, **changes)
    written = asyncio.run(_record(scene, doings, **options))
    file = folder / "run.jsonl"
    file.write_text("".join(map(as_text, written)), encoding="utf-8")
    return read_run_file(file, partial(cast_scene, path=file)).agreed()


def from_tape(record: RunFile) -> Replay:
    return asyncio.run(replay(record, TapedEnsemble(record)))


def asked_by(record: RunFile) -> set[str]:
    return {call["by"] for line in record.records for call in line.get("calls", ())}


def texts(lines: Sequence[RunLine]) -> list[str]:
    return [line["text"] for line in lines]


@given(
    st.integers(0, 2**31),
    st.sampled_from(["round-robin", "natural", "pooled", "bidding", "model"]),
    st.sampled_from([None, {"every": 1}, {"every": 3}, {"answers": True}]),
)
@examples(0.05)
def test_a_tape_gives_the_same_scene_without_a_model(
    tmp_path_factory: pytest.TempPathFactory, seed: int, director: str, narrator: dict[str, Any] | None
) -> None:
    changes = {"director": director, "narrator": narrator}
    with improvising(names=NAMES):
        record = recorded(tmp_path_factory.mktemp("run"), (None,) * 6, seed=seed, changes=changes)

    again = from_tape(record)

    assert again.first_difference is None
    assert texts(again.played) == texts(record.records)
    assert len(again.played) >= 6 + 3 + 2


@pytest.mark.parametrize("director", ["bidding", "model"])
def test_what_a_director_asked_models_is_on_the_tape_too(tmp_path: Path, director: str) -> None:
    with improvising(names=NAMES):
        record = recorded(tmp_path, changes={"director": director})

    assert {"direct", "speak", "narrate"} <= asked_by(record)
    assert from_tape(record).first_difference is None


def test_models_that_the_scene_names_are_not_asked(tmp_path: Path) -> None:
    """Nor made: outside, nobody knows of an improvising model."""
    cast = [{"id": seat, "name": seat.title(), "model": f"improvising:{seat}"} for seat in ("ada", "ben")]
    with improvising(names=NAMES):
        record = recorded(
            tmp_path,
            changes={
                "cast": cast,
                "events": [],
                "director": {"kind": "model", "model": "improvising:director"},
                "narrator": {"every": 2, "model": "improvising:narrator"},
                "model": "improvising:scene",
            },
        )

    assert from_tape(record).first_difference is None


@pytest.mark.parametrize("director", ["natural", "bidding"])
def test_what_was_summed_up_is_summed_up_at_the_same_lines(tmp_path: Path, director: str) -> None:
    """Though the tape counts no tokens as the model does."""
    with improvising(names=NAMES, n_ctx=700, length=60):
        record = recorded(tmp_path, (None,) * 14, changes={"stop": {"turns": 14}, "director": director})
    summaries = [
        (line["speaker"], line["made_by"]["summary"]["lines"])
        for line in record.records
        if "summary" in line.get("made_by", {})
    ]

    again = from_tape(record)

    assert len({speaker for speaker, _ in summaries}) > 1
    assert len(summaries) > len({speaker for speaker, _ in summaries}), "nobody remembers twice"
    assert again.first_difference is None
    assert [
        (line["speaker"], line["made_by"]["summary"]["lines"])
        for line in again.played
        if "summary" in line.get("made_by", {})
    ] == summaries


@pytest.mark.parametrize("temperature", [None, 0.0, 0.7])
def test_what_was_said_again_is_said_again_and_what_stood_with_its_fault_stands(
    tmp_path: Path, temperature: float | None
) -> None:
    with improvising(names=NAMES, temperature=temperature):
        record = recorded(tmp_path, (None,) * 12, changes={"stop": {"turns": 12}}, seed=3)
    spoken = [
        sum(call["by"] == "speak" for call in line["calls"]) for line in record.records if "calls" in line
    ]
    faults = [line for line in record.records if "fault" in line.get("made_by", {})]

    again = from_tape(record)

    assert faults if temperature == 0 else max(spoken) == 2
    assert again.first_difference is None


@pytest.mark.parametrize("strategy", ["few-shot-prompt", "zero-shot"])
def test_a_strategy_given_to_the_run_is_the_replays(tmp_path: Path, strategy: str) -> None:
    cast = ["sherlock-holmes", {"persona": "shrek", "strategy": "system"}]
    changes = {"cast": cast, "opening": [], "events": []}
    with improvising():
        record = recorded(tmp_path, (None,) * 4, changes=changes, strategy=strategy)
        live = asyncio.run(replay(record, live_ensemble(record)))

    assert from_tape(record).first_difference is None
    assert live.first_difference is None


def said(seat: str, text: str, kind: Any = "say", to: Sequence[str] = ()) -> PersonsLine:
    return PersonsLine(seat=seat, kind=kind, to=[*to], text=text)


@pytest.mark.parametrize("director", ["natural", "bidding", "model", "manual"])
def test_people_do_again_what_they_did(tmp_path: Path, director: str) -> None:
    with improvising(names=NAMES):
        record = recorded(
            tmp_path,
            [
                said("ben", "Who calls?"),
                "ada",
                ("in", "cy"),
                said("ben", "Give me a pear, or I shall tell.", "whisper", ["ada"]),
                "cy",
                said("ben", "takes a pear.", "act"),
                "ada",
                ("out", "ada"),
                said("ben", "She is gone.", "think"),
                "cy",
            ],
            persons=["ben"],
            changes={"director": director, "events": [{"after": 2, "text": "It rains."}]},
        )

    again = from_tape(record)

    assert again.first_difference is None
    assert [line["kind"] for line in again.played if line["speaker"] == "ben"] == [
        "whisper",  # as the scene opens
        "say",
        "whisper",
        "act",
        "think",
    ]


def test_a_person_on_the_narrators_chair_narrates_again_and_no_model_does(tmp_path: Path) -> None:
    with improvising(names=NAMES):
        record = recorded(
            tmp_path,
            [None, said("narrator", "A dog runs by.", "narrate"), None, None],
            persons=["narrator"],
            changes={"director": "round-robin", "narrator": {"every": 1}, "events": []},
        )

    again = from_tape(record)

    assert again.first_difference is None
    assert [line["text"] for line in again.played if line["kind"] == "narrate"] == [
        "The bells have just stopped.",
        "A dog runs by.",
    ]


def test_a_persona_that_has_changed_since_is_told(tmp_path: Path) -> None:
    persona = tmp_path / "eve.yaml"
    persona.write_text("id: eve\nname: Eve\ndescription: Eve is a baker.\n", encoding="utf-8")
    changes = {"cast": ["eve.yaml", {"id": "ben", "name": "Ben"}], "opening": [], "events": []}
    with improvising():
        record = recorded(tmp_path, changes=changes)
    persona.write_text("id: eve\nname: Eve\ndescription: Eve is a thief.\n", encoding="utf-8")
    changed = read_run_file(tmp_path / "run.jsonl", partial(cast_scene, path=tmp_path / "run.jsonl"))

    assert from_tape(record).first_difference is None
    with pytest.raises(ModelError, match=r"^The tape has no answer to this prompt: .*a persona.*changed"):
        from_tape(changed)


def test_a_line_that_was_changed_by_hand_is_found(tmp_path: Path) -> None:
    with improvising(names=NAMES):
        record = recorded(tmp_path, changes={"narrator": None})
    place = len(record.records) - 1
    record.records[place] = {**record.records[place], "text": "I confess."}

    again = from_tape(record)

    assert again.first_difference == place
    assert again.played[place]["text"] != "I confess."


@pytest.mark.parametrize("director", ["natural", "bidding", "model"])
def test_models_with_the_same_seeds_say_it_live_again(tmp_path: Path, director: str) -> None:
    """The director's and the narrator's model is the run's too."""
    with improvising(names=NAMES) as asked:
        record = recorded(tmp_path, changes={"director": director}, seed=5)
        calls = len(asked)
        lines: list[RunLine] = []
        again = asyncio.run(replay(record, live_ensemble(record), lines.append))

    assert again.first_difference is None
    assert len(asked) == 2 * calls
    assert lines == again.played


def test_another_model_plays_all_seats_and_as_many_turns(tmp_path: Path) -> None:
    cast = [
        {"id": "ada", "name": "Ada", **PRIVATE},
        {"id": "ben", "name": "Ben", "model": "improvising:bens"},
        {"id": "cy", "name": "Cy", "present": False},
    ]
    with improvising(names=NAMES) as asked:
        record = recorded(tmp_path, changes={"cast": cast})
        first = {one.style for one in asked}
        asked.clear()
        again = asyncio.run(replay(record, live_ensemble(record, "improvising:other")))

    assert first == {"one", "bens"}
    assert {one.style for one in asked} == {"other"}
    assert again.first_difference == 3  # after the opening
    assert texts(again.played[:3]) == texts(record.records[:3])
    assert again.played[-1]["turn"] == record.records[-1]["turn"] == 8


def test_a_failing_model_is_told(tmp_path: Path) -> None:
    with improvising(names=NAMES):
        record = recorded(tmp_path)
        with pytest.raises(ModelError) as told:
            asyncio.run(replay(record, live_ensemble(record, "improvising:broken")))

    assert str(told.value) == "The model broke down."


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all that a scene can have."""
    folder = tmp_path_factory.mktemp("run")
    with improvising(names=NAMES):
        recorded(folder, (None,) * 6)
    return folder / "run.jsonl"


@given(st.data())
@examples(0.1)
def test_a_file_that_was_cut_between_lines_replays_as_far_as_it_goes(
    whole: Path, data: st.DataObject
) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    kept = data.draw(st.integers(1, len(lines)), label="lines kept")
    file = whole.with_name("cut.jsonl")
    file.write_bytes(b"".join(lines[:kept]))
    record = read_run_file(file)

    again = from_tape(record)

    assert again.first_difference is None
    played = texts(again.played)
    assert played == texts(read_run_file(whole).records)[: len(played)]
    assert max((line["turn"] for line in again.played), default=0) == len(turns(record.lines))


def test_scenes_differ_where_one_has_more_lines() -> None:
    line = RunLine(
        turn=1,
        speaker="ada",
        name="Ada",
        kind="say",
        audience=["ada"],
        text="Pears!",
        prompt_tokens=None,
        reused_tokens=None,
        completion_tokens=None,
        ms=None,
    )
    slower: RunLine = {**line, "ms": 7, "prompt_tokens": 3}
    whispered: RunLine = {**line, "kind": "whisper"}

    assert Replay(recorded=[line, line], played=[line, slower]).first_difference is None
    assert Replay(recorded=[line, line], played=[line]).first_difference == 1
    assert Replay(recorded=[], played=[line]).first_difference == 0
    assert Replay(recorded=[line, line], played=[line, whispered]).first_difference == 1
    assert Replay(recorded=[], played=[]).first_difference is None


def talks_to_oneself(situation: Situation) -> NextSpeaker:
    """A director of a user's, which chooses otherwise than the scene's."""
    return NextSpeaker(seat=situation.present[-1], why="Is the last.")


def test_a_run_that_a_function_directed_is_replayed_with_it(tmp_path: Path) -> None:
    with improvising():
        record = recorded(tmp_path, (None,) * 4, director=talks_to_oneself)
        assert record.director == f"{__name__}.talks_to_oneself"
        again = asyncio.run(replay(record, TapedEnsemble(record, director=talks_to_oneself)))
        live = asyncio.run(replay(record, live_ensemble(record, director=talks_to_oneself)))
    assert len(again.played) > 4
    assert (again.first_difference, live.first_difference) == (None, None)


@pytest.mark.parametrize("ensemble_of", [TapedEnsemble, live_ensemble])
def test_without_the_function_that_directed_it_a_run_is_refused(
    tmp_path: Path, ensemble_of: Callable[[RunFile], Ensemble]
) -> None:
    with improvising():
        record = recorded(tmp_path, (None,) * 2, director=talks_to_oneself)
        with pytest.raises(SceneError, match=r"talks_to_oneself directed this run.*pass it as `director`"):
            ensemble_of(record)
