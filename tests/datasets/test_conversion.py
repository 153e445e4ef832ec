"""From one form to another and back."""

import builtins
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from helpers.hypotheses import examples
from helpers.samples import any_samples, row, sample, written_rows
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import SystemMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets import Sample, read_samples
from rolellm_agents.datasets.conversion import ConversionCounts, FormName, convert_source, open_source
from rolellm_agents.datasets.instructions import SystemInstructions
from rolellm_agents.datasets.writing import clean, write_samples
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.persona import Persona, list_personas
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.strategies import get_strategy

LINES: tuple[FormName, ...] = ("sharegpt", "chatml", "alpaca")


@cache
def everybody() -> tuple[Persona, ...]:
    return tuple(found.persona for found in list_personas().found)


@pytest.fixture
def cast() -> tuple[Persona, ...]:
    return everybody()


def rows_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def there_and_back(
    folder: Path, samples: list[Sample], form: FormName, *, instructed: bool
) -> list[Sample]:
    """Through a form and back to RoleBench's."""
    told = SystemInstructions(everybody() if instructed else ())
    source, out, back = (
        folder / "mine.jsonl",
        folder / f"out{'' if form == 'hf' else '.jsonl'}",
        folder / "back",
    )
    write_samples(source, samples)
    convert_source(source, out, to=form, instruction=told, replacing=True)
    convert_source(out, back / "x.jsonl", to="rolebench", instruction=told, replacing=True)
    return read_samples(back / "x.jsonl")


ROLES = st.sampled_from(["Thor", "Ada", "华妃"])
"""With a persona, without one, and with one in Chinese."""
MANY = st.lists(any_samples(ROLES), min_size=1, max_size=6)


@examples(0.3)
@given(MANY, st.sampled_from(LINES), st.booleans())
def test_no_form_loses_anything(
    tmp_path_factory: pytest.TempPathFactory, samples: list[Sample], form: FormName, instructed: bool
) -> None:
    folder = tmp_path_factory.mktemp("forms")
    assert there_and_back(folder, samples, form, instructed=instructed) == [clean(one) for one in samples]


@examples(0.05)
@given(MANY)
def test_nor_does_hugging_faces(tmp_path_factory: pytest.TempPathFactory, samples: list[Sample]) -> None:
    pytest.importorskip("datasets")
    folder = tmp_path_factory.mktemp("hf")
    assert there_and_back(folder, samples, "hf", instructed=True) == [clean(one) for one in samples]


def test_equal_samples_in_a_row_stay_apart(tmp_path: Path) -> None:
    samples = [sample(), sample(), sample("Ada", "Who keeps the lamp?", "I do.", "Me.")]
    for form in LINES:
        assert there_and_back(tmp_path, samples, form, instructed=False) == samples


@pytest.mark.parametrize("form", LINES)
def test_a_row_begins_with_the_very_instruction_of_a_chat(
    tmp_path: Path, form: FormName, cast: tuple[Persona, ...]
) -> None:
    write_samples(tmp_path / "a.jsonl", [sample(one.name, "Who?", language=one.language) for one in cast])
    counts = convert_source(
        tmp_path / "a.jsonl", tmp_path / "out.jsonl", to=form, instruction=SystemInstructions(cast)
    )
    assert not counts.without_instruction
    for one, line in zip(cast, rows_in(tmp_path / "out.jsonl"), strict=True):
        told = {
            "sharegpt": lambda row: row["conversations"][0]["value"],
            "chatml": lambda row: row["messages"][0]["content"],
            "alpaca": lambda row: row["system"],
        }[form](line)
        [first, *_] = Prompting(one, "system", user=DEFAULT_USER).compose([], [], "Who?")
        assert isinstance(first, SystemMessage)
        assert told == first.text == get_strategy("system")(one, [], [], "Who?")[0].text


def test_the_forms_are_those_that_trainers_know(tmp_path: Path) -> None:
    write_samples(
        tmp_path / "a.jsonl",
        [
            sample(
                "Ada",
                "Who?",
                "I.",
                "Me.",
                types=("script_based", "script_agnostic"),
                persona="x",
                system="Be Ada.",
            )
        ],
    )
    for form in LINES:
        convert_source(tmp_path / "a.jsonl", tmp_path / f"{form}.jsonl", to=form)
    beside = {
        "id": "0.1",
        "role": "Ada",
        "language": "en",
        "kind": "role_specific",
        "type": "script_agnostic",
    }
    told = {**beside, "extra": {"persona": "x"}}
    assert rows_in(tmp_path / "sharegpt.jsonl")[1] == {
        "conversations": [
            {"from": "system", "value": "Be Ada."},
            {"from": "human", "value": "Who?"},
            {"from": "gpt", "value": "Me."},
        ],
        **told,
    }
    assert rows_in(tmp_path / "chatml.jsonl")[1] == {
        "messages": [
            {"role": "system", "content": "Be Ada."},
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": "Me."},
        ],
        **told,
    }
    assert rows_in(tmp_path / "alpaca.jsonl")[1] == {
        "instruction": "Who?",
        "input": "",
        "output": "Me.",
        "system": "Be Ada.",
        **told,
    }


def foreign(
    tmp_path: Path, rows: list[dict[str, Any]], role: str | None = "Thor"
) -> tuple[list[Sample], int]:
    """What somebody else's rows are read as, and how many are left out."""
    counts = ConversionCounts()
    [stream] = open_source(written_rows(tmp_path / "theirs.jsonl", rows), None, counts, role=role)
    return list(stream.samples()), counts.left_out


def test_somebody_elses_rows_become_samples(tmp_path: Path) -> None:
    turns = [{"from": "user", "value": " Who? "}, {"from": "assistant", "value": " I am Thor."}]
    read, left_out = foreign(
        tmp_path,
        [
            {"id": "identity_0", "conversations": turns},
            {"id": "identity_0", "conversations": [{"from": "system", "value": "Be bold."}, *turns]},
            {"conversations": [*turns, *turns]},
            {"conversations": turns[:1]},
            {"conversations": [turns[0], {"from": "gpt", "value": " "}]},
            {"conversations": None},
            {"conversations": [{"from": "human", "value": "你是谁？"}, {"from": "gpt", "value": "雷神。"}]},
        ],
    )
    assert left_out == 4
    assert read[0] == sample("Thor", "Who?", "I am Thor.", kind="general")
    assert read[1].extra == {"system": "Be bold."}
    assert read[2].language == "zh"


def test_alpacas_input_belongs_to_its_question(tmp_path: Path) -> None:
    read, _ = foreign(
        tmp_path,
        [
            {"instruction": "Sum up.", "input": "It rained.", "output": "Rain."},
            {"instruction": "Why?", "input": "", "output": "So."},
        ],
    )
    assert [one.question for one in read] == ["Sum up.\nIt rained.", "Why?"]


def test_a_file_that_is_one_list_is_read_too(tmp_path: Path) -> None:
    rows = [{"instruction": "Why?", "input": "", "output": "So."}] * 3
    (tmp_path / "alpaca.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    counts = convert_source(tmp_path / "alpaca.json", tmp_path / "out.jsonl", to="rolebench", role="Thor")
    assert (counts.samples, counts.rows) == (3, 3)
    (tmp_path / "alpaca.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(RoleBenchError, match="rows"):
        convert_source(tmp_path / "alpaca.json", tmp_path / "new.jsonl", to="rolebench", role="Thor")


def test_whose_answers_they_are_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(RoleBenchError, match=r"theirs\.jsonl, row 1: it does not name the role.*--role"):
        foreign(tmp_path, [{"instruction": "Why?", "output": "So."}], None)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"text": "Why?"}\n', "name it with --from"),
        ("no\n", "line 1: it is not JSON"),
        ('{"messages": []}\n{"messa', "line 2: it is not JSON"),
    ],
)
def test_what_cannot_be_read_is_told_and_nothing_is_written(
    tmp_path: Path, content: str, what: str
) -> None:
    (tmp_path / "theirs.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(RoleBenchError, match=what):
        convert_source(tmp_path / "theirs.jsonl", tmp_path / "out.jsonl", to="rolebench", role="Thor")
    assert not list(tmp_path.glob("*out*"))


def test_a_folder_becomes_a_folder_with_the_same_files(tmp_path: Path) -> None:
    source = tmp_path / "rolebench"
    for part in ("train", "test"):
        for split in ("instruction-generalization", "role-generalization"):
            written_rows(source / "rolebench-eng" / split / "general" / f"{part}.jsonl", [row()])
    for form in LINES:
        convert_source(source, tmp_path / form, to=form)
        convert_source(tmp_path / form, tmp_path / f"{form}-back", to="rolebench")
        assert [file.relative_to(source) for file in sorted(source.rglob("*.jsonl"))] == [
            file.relative_to(tmp_path / f"{form}-back")
            for file in sorted((tmp_path / f"{form}-back").rglob("*.jsonl"))
        ]


def test_hugging_faces_library_never_mixes_two_splits(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    source = tmp_path / "rolebench"
    for language in ("eng", "zh"):
        for part in ("train", "test"):
            written_rows(
                source
                / f"rolebench-{language}"
                / "instruction-generalization"
                / "general"
                / f"{part}.jsonl",
                [row(question=f"{language} {part}?", generated=["I do.", "Me."], labels=["a"])],
            )
    convert_source(source, tmp_path / "one", to="hf")
    loaded = datasets.load_from_disk(str(tmp_path / "one"))
    assert set(loaded) == {"train", "test"}
    assert sorted(loaded["train"]["question"]) == ["eng train?", "zh train?"]
    assert loaded["test"][0]["generated"] == ["I do.", "Me."]
    assert json.loads(loaded["test"][0]["extra"]) == {"labels": ["a"]}

    written_rows(source / "rolebench-eng" / "role-generalization" / "general" / "train.jsonl", [row()])
    counts = convert_source(source, tmp_path / "two", to="hf")
    assert counts.samples == 5
    assert {path.name for path in (tmp_path / "two").iterdir()} == {
        "instruction-generalization",
        "role-generalization",
    }
    assert {path.name for path in tmp_path.iterdir()} == {"rolebench", "one", "two"}


def test_without_the_library_it_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name == "datasets":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RoleBenchError, match=r"rolellm-agents\[train\]"):
        convert_source(written_rows(tmp_path / "a.jsonl", [row()]), tmp_path / "out", to="hf")


def test_a_folder_that_holds_no_data_set_is_told(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    (tmp_path / "state.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RoleBenchError, match="holds no data set"):
        convert_source(tmp_path, tmp_path / "out.jsonl", to="rolebench")
