"""Samples on disk in the clean form: what is written is what is read, and nothing is half-written."""

import json
from pathlib import Path

import pytest
from helpers.samples import any_samples, row, sample, written_rows
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets import Sample, read_samples
from rolellm_agents.datasets.layout import path_in_layout
from rolellm_agents.datasets.sources import source_files
from rolellm_agents.datasets.writing import check_writable, clean, write_samples, writing_layout
from rolellm_agents.errors import RoleBenchError


@given(st.lists(any_samples(), min_size=1, max_size=5))
def test_what_is_written_alone_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, samples: list[Sample]
) -> None:
    file = tmp_path_factory.getbasetemp() / "alone.jsonl"
    assert write_samples(file, samples) == len(samples)
    assert read_samples(file) == [clean(one) for one in samples]
    assert len(file.read_text(encoding="utf-8").splitlines()) == len(samples)  # whatever ends a line


@given(
    st.lists(
        st.tuples(
            any_samples(),
            st.sampled_from(("instruction-generalization", "role-generalization")),
            st.sampled_from(("train", "test", "rolegpt_baseline")),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_what_is_written_in_the_layout_is_read_again_where_it_belongs(
    tmp_path_factory: pytest.TempPathFactory, placed: list[tuple[Sample, object, object]]
) -> None:
    folder = tmp_path_factory.mktemp("layout")
    with writing_layout(folder) as put:
        for one, split, part in placed:
            put(one, split, part)  # type: ignore[arg-type]  # sampled literals
    read = {
        (file.place.split, file.part, file.place.kind, file.place.language): list(file.samples())
        for file in source_files(folder)
    }
    expected: dict[object, list[Sample]] = {}
    for one, split, part in placed:
        expected.setdefault((split, part, one.kind, one.language), []).append(clean(one))
    assert read == expected


@given(any_samples())
def test_a_clean_sample_stays_as_it_is(one: Sample) -> None:
    assert clean(clean(one)) == clean(one)


def test_the_clean_form_has_one_schema(tmp_path: Path) -> None:
    published = written_rows(
        tmp_path / "published.jsonl",
        [
            row(question=" Who? ", generated=[" I. ", "Me."], type="script_based"),
            row(generated=["I.", "Me."], type=["script_based", "script_agnostic"]),
            row(generated=["I.", "Me.", "Us."], type=["script_based", "script_agnostic"]),
        ],
    )
    file = tmp_path / "clean.jsonl"
    write_samples(file, read_samples(published))
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == {
        "role": "Ada",
        "question": "Who?",
        "generated": ["I.", "Me."],
        "type": ["script_based", "script_based"],
        "language": "en",
    }
    assert rows[1]["type"] == ["script_based", "script_agnostic"]
    assert "type" not in rows[2]  # whose they are cannot be told
    assert rows[2]["kind"] == "role_specific"


def test_half_a_character_becomes_one_that_can_be_written(tmp_path: Path) -> None:
    write_samples(tmp_path / "a.jsonl", [sample("Ada", "Who \ud83d?", note="\ud83d")])
    [read] = read_samples(tmp_path / "a.jsonl")
    assert (read.question, read.extra) == ("Who \ufffd?", {"note": "\ufffd"})


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with writing_layout(out) as put:
        put(sample(), "instruction-generalization", "train")
    file = out / path_in_layout("en", "instruction-generalization", "role_specific", "train")
    before = file.read_bytes()

    def fail() -> None:
        with writing_layout(out) as put:
            put(sample("Ben"), "instruction-generalization", "train")
            put(sample("Ben"), "instruction-generalization", "test")
            raise RoleBenchError("No.")

    with pytest.raises(RoleBenchError, match="No"):
        fail()
    assert file.read_bytes() == before
    assert [path for path in out.rglob("*") if path.is_file()] == [file]


def test_a_new_data_set_leaves_nothing_of_the_old_one_but_other_files(tmp_path: Path) -> None:
    with writing_layout(tmp_path) as put:
        put(sample(language="zh"), "role-generalization", "test")
    (tmp_path / "README.md").write_text("Mine.", encoding="utf-8")
    with writing_layout(tmp_path) as put:
        put(sample(), "instruction-generalization", "train")
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"README.md", "train.jsonl"}


def test_a_result_never_replaces_its_source_nor_anything_unasked(tmp_path: Path) -> None:
    source = written_rows(tmp_path / "data" / "mine.jsonl", [row()])
    files = source_files(source)
    for out in (source, tmp_path / "data", tmp_path):
        with pytest.raises(RoleBenchError, match="is the source"):
            check_writable(out, files, replacing=True)
    other = written_rows(tmp_path / "other" / "a.jsonl", [row()])
    for out in (other, other.parent):
        with pytest.raises(RoleBenchError, match="--force"):
            check_writable(out, files, replacing=False)
        assert check_writable(out, files, replacing=True) == out
    (tmp_path / "empty").mkdir()
    assert check_writable(tmp_path / "empty", files, replacing=False)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RoleBenchError, match="cannot be written"):
        write_samples(tmp_path / "file" / "a.jsonl", [sample()])
