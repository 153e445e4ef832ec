"""Who is speaking: names are taken out, candidates drawn, answers counted; the benchmark goes on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.hypotheses import examples
from helpers.scoring_model import WordScoringModel
from helpers.user_files import write_persona
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ModelError, PersonaError, StorageError
from rolellm_agents.judging.speakers import Speaker, identification_rate, sample_speakers, without_name
from rolellm_graphs.evaluate.speakers import SpeakersRequest, measure_speakers, run_name

ROLES = {"Ada Byron": "bees honey hives", "Ben Stone": "mill corn wind", "Cleo Marsh": "boats nets tides"}


@pytest.mark.parametrize(
    ("text", "name", "left"),
    [
        ("I am Jack Sparrow.", "Jack Sparrow", "I am …."),
        ("Captain JACK SPARROW, mate. Jack's here.", "Jack Sparrow", "Captain …, mate. …'s here."),
        ("Call me Mr. Sparrow. The sparrows sing.", "Jack Sparrow", "Call me Mr. …. The sparrows sing."),
        ("I, Elizabeth, am Queen.", "Queen Elizabeth I", "I, …, am …."),
        ("Po is possible, po or not.", "Po", "… is possible, … or not."),
        ("我是李白，李白也。", "李白", "我是…，…也。"),
        ("The Holmeses are no kin.", "Sherlock Holmes", "The Holmeses are no kin."),
    ],
)
def test_the_name_is_taken_out_and_other_words_stay(text: str, name: str, left: str) -> None:
    assert without_name(text, name) == left


@given(name=st.from_regex(r"\A[A-Z][a-z]{1,8}( [A-Z][a-z]{1,8})?\Z"), before=st.text("ab .,", max_size=20))
def test_no_name_is_left_of_it(name: str, before: str) -> None:
    left = without_name(f"{before} {name}, says {name.upper()}. {name.split()[-1]}!", name)
    for word in name.split():
        assert word not in left.split()


@given(most=st.one_of(st.none(), st.integers(1, 9)), seed=st.integers(0, 9))
@examples(0.25)
def test_the_draw_is_the_same_for_a_seed_and_fewer_candidates_are_among_more(
    most: int | None, seed: int
) -> None:
    cast = [f"r{number}" for number in range(8)]
    replies = {name: [f"{name}/0"] for name in [*cast[:6], "stranger"]}
    speakers = sample_speakers(replies, cast, most=most, seed=seed)
    assert speakers == sample_speakers(replies, [*reversed(cast)], most=most, seed=seed)
    assert len(speakers) == (6 if most is None else min(most, 6))
    for one in speakers:
        assert set(one.candidates(3)) < set(one.candidates(5)) < set(one.candidates(100)) == set(cast)
        assert one.candidates(5)[0] == one.id != "stranger"
        assert len(one.candidates(5)) == 5


def speaker(name: str, others: str, replies: int = 2) -> Speaker:
    return Speaker(
        id=name, replies=tuple(f"{name}{number}" for number in range(replies)), others=tuple(others)
    )


def test_what_is_told_right_is_counted_alone_and_pooled() -> None:
    speakers = [speaker("a", "b"), speaker("b", "a")]
    evidence = {
        "a": {"a0": 3.0, "a1": 0.0, "b0": 0.0, "b1": 2.0},
        "b": {"a0": 1.0, "a1": 1.0, "b0": 1.0, "b1": 0.0},
    }
    alone = identification_rate(speakers, evidence, {}, candidates=2, pooled=1)
    assert alone is not None
    assert (alone.mean, alone.n) == (0.5, 4)
    pooled = identification_rate(speakers, evidence, {}, candidates=2, pooled=2)
    assert pooled is not None
    assert (pooled.mean, pooled.n) == (0.5, 2)
    fair = identification_rate(speakers, evidence, {"a": [1.0], "b": [0.0]}, candidates=2, pooled=2)
    assert fair is not None
    assert fair.mean == 0.5
    assert identification_rate(speakers, evidence, {}, candidates=2, pooled=3) is None


def test_who_can_only_guess_is_right_by_chance() -> None:
    found = identification_rate(
        [speaker("a", "bcd", 1)], {name: {"a0": 1.0} for name in "abcd"}, {}, candidates=4, pooled=1
    )
    assert found is not None
    assert found.mean == 0.25


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three roles with two answers each in their own words; the role's name is in every one."""
    for name, words in ROLES.items():
        write_persona(
            f"id: {name.split()[0].lower()}\nname: {name}\ndescription: {words}\n",
            f"{name.split()[0].lower()}.yaml",
        )
    folder = tmp_path / "RoleBench" / "rolebench-eng" / "instruction-generalization" / "role_specific"
    write(
        folder / "test.jsonl",
        [(name, f" {name} likes {words}.") for name, words in ROLES.items() for _ in "12"],
    )
    write(folder / "train.jsonl", [(name, f"I am {name}.") for name in ROLES])
    return tmp_path / "RoleBench"


def write(file: Path, rows: Sequence[tuple[str, str]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    told = [{"role": role, "question": "Who are you?", "generated": [text]} for role, text in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in told), encoding="utf-8")


def measured(data: Path, folder: Path, model: WordScoringModel, **more: Any) -> list[dict[str, Any]]:
    request = SpeakersRequest(data=data, **{"replies": (1, 2), "candidates": (2, 100), **more})
    return measure_speakers(request, model, model_name="words", folder=folder)


def test_speakers_are_told_by_their_words_with_the_names_out(data: Path, tmp_path: Path) -> None:
    model = WordScoringModel()
    rows = measured(data, tmp_path / "run", model)
    cast = 95 + len(ROLES)
    assert [(row["candidates"], row["replies"]) for row in rows] == [(2, 1), (2, 2), (cast, 1), (cast, 2)]
    assert [row["n"] for row in rows] == [6, 3, 6, 3]
    assert all(row["right"] == 1.0 for row in rows)
    assert all(row["seconds"] >= 0 for row in rows)
    assert rows[0]["chance"] == 0.5
    assert not any("Ada" in reply or "Byron" in reply for _, reply in model.asked)


def test_each_candidate_is_measured_once_and_a_stopped_run_goes_on(data: Path, tmp_path: Path) -> None:
    folder, stopped = tmp_path / "run", WordScoringModel(fails=lambda reply: "bees" in reply)
    with pytest.raises(ModelError):
        measured(data, folder, stopped, candidates=(2,))
    rows = measured(data, folder, WordScoringModel(), candidates=(2,))
    again = WordScoringModel()
    assert measured(data, folder, again, candidates=(2,)) == rows
    assert again.asked == []


def test_another_seed_is_another_run(data: Path, tmp_path: Path) -> None:
    measured(data, tmp_path / "run", WordScoringModel(), candidates=(2,))
    with pytest.raises(StorageError, match="seed"):
        measured(data, tmp_path / "run", WordScoringModel(), candidates=(2,), seed=1)
    names = {run_name(SpeakersRequest(data=data, seed=seed), "words") for seed in (0, 0, 1)}
    assert len(names) == 2


def test_background_makes_a_row_of_its_own(data: Path, tmp_path: Path) -> None:
    rows = measured(data, tmp_path / "run", WordScoringModel(), candidates=(2,), replies=(1,), background=2)
    assert [row["background"] for row in rows] == [0, 2]


def test_roles_without_enough_answers_or_personas_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(PersonaError, match="No persona has 5 answers"):
        measured(data, tmp_path / "run", WordScoringModel(), replies=(5,))
