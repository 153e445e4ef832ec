"""Data sets made on disk: merged, split, with a record of what they are made of."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from helpers.samples import row, written_rows
from helpers.shared_data import shared_data

from rolellm_agents.datasets import Sample, find_file, read_samples
from rolellm_agents.datasets.checking import check_source
from rolellm_agents.datasets.data_sets import merge_sources, split_source
from rolellm_agents.datasets.provenance import DatasetProvenance, dataset_provenance_of, origins_of
from rolellm_agents.datasets.splitting import (
    InstructionSplit,
    RoleSplit,
    split_by_instructions,
    split_by_roles,
)
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.persona import list_personas

BY_INSTRUCTIONS = partial(split_by_instructions, test_share=0.3, seed=1)
MAKING = DatasetProvenance("rolellm data split", {"seed": 1})


def asked(role: str, number: int) -> str:
    return f"{role}, what of the thing{number} that somebody{number} saw in year {number} at place{number}?"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A generator's run with two roles, ten questions each, and a baseline for each."""
    folder = tmp_path / "run-1"
    rows = [
        row(role=role, question=asked(role, n), labels=[]) for role in ("Ada", "Ben") for n in range(10)
    ]
    written_rows(folder / "samples.jsonl", rows)
    written_rows(folder / "rolegpt_baseline.jsonl", rows)
    (folder / "config.json").write_text(
        json.dumps(
            {"begun": "2026-01-01", "versions": {"python": "3.11"}, "config": {"model": "m", "seed": 4}}
        ),
        encoding="utf-8",
    )
    (folder / "manifest.json").write_text(json.dumps({"filters": {"ai-talk": 3}}), encoding="utf-8")
    return folder


def test_a_split_holds_every_row_once_and_the_baselines_of_its_test(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    counts = split_source(run, out, BY_INSTRUCTIONS, MAKING)
    parts = {
        part: read_samples(find_file(out, part, kind="general"))
        for part in ("train", "test", "rolegpt_baseline")
    }
    assert sorted(map(key, parts["train"] + parts["test"])) == sorted(
        map(key, read_samples(run / "samples.jsonl"))
    )
    assert sorted(map(key, parts["rolegpt_baseline"])) == sorted(map(key, parts["test"]))
    assert counts == {"train": 14, "test": 6, "rolegpt_baseline": 6, "baseline_left_out": 14}


def key(sample: Sample) -> tuple[str, str]:
    return sample.role, sample.question


def test_a_split_tells_what_it_is_made_of(run: Path, tmp_path: Path) -> None:
    merged = tmp_path / "merged"
    merge_sources([run, run], merged)
    split_source(merged, tmp_path / "dataset", BY_INSTRUCTIONS, MAKING)
    [origin, again] = origins_of(tmp_path / "dataset")
    assert origin == again
    assert (origin.name, origin.config, origin.filters) == (
        "run-1",
        {"model": "m", "seed": 4},
        {"ai-talk": 3},
    )
    assert dataset_provenance_of(tmp_path / "dataset") == [
        DatasetProvenance("rolellm data merge", {}),
        MAKING,
    ]


def test_merging_keeps_baselines_apart(run: Path, tmp_path: Path) -> None:
    counts = merge_sources([run, run], tmp_path / "merged")
    assert counts == {"read": 40, "written": 20, "repeated": 20, "joined": 0, "baselines": 20}
    assert len(read_samples(tmp_path / "merged" / "samples.jsonl")) == 20
    assert all(
        len(one.references) == 1 for one in read_samples(tmp_path / "merged" / "rolegpt_baseline.jsonl")
    )
    assert merge_sources([run], tmp_path / "alone.jsonl")["written"] == 20


def test_nothing_is_replaced_unasked_and_a_failed_split_leaves_nothing(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "dataset"
    with pytest.raises(RoleBenchError, match="none can be held out"):
        split_source(
            run, out, partial(split_by_roles, test_share=0.5, seed=0, hold_out=["Ada", "Ben"]), MAKING
        )
    assert not out.exists()
    split_source(run, out, BY_INSTRUCTIONS, MAKING)
    with pytest.raises(RoleBenchError, match="--force"):
        split_source(run, out, BY_INSTRUCTIONS, MAKING)
    split_source(run, out, partial(split_by_roles, test_share=0.5, seed=0), MAKING, replacing=True)
    assert not (out / "rolebench-eng" / "instruction-generalization" / "general" / "train.jsonl").exists()


def test_a_damaged_row_far_down_leaves_no_half_a_data_set(run: Path, tmp_path: Path) -> None:
    with (run / "samples.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"role": "Ada", "quest')
    with pytest.raises(RoleBenchError, match="line 21: it is not JSON"):
        split_source(run, tmp_path / "dataset", BY_INSTRUCTIONS, MAKING)
    with pytest.raises(RoleBenchError, match="line 21: it is not JSON"):
        merge_sources([run], tmp_path / "merged.jsonl")
    assert not (tmp_path / "dataset").exists()
    assert not (tmp_path / "merged.jsonl").exists()


def test_a_damaged_manifest_is_told(run: Path) -> None:
    (run / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(RoleBenchError, match=r"manifest\.json is damaged"):
        origins_of(run)


@pytest.mark.parametrize("by", [split_by_instructions, split_by_roles])
def test_published_data_that_is_split_anew_has_no_leaks(
    tmp_path: Path, by: Callable[..., InstructionSplit | RoleSplit]
) -> None:
    source = shared_data("rolebench/rolebench-zh")
    split_source(source, tmp_path / "dataset", partial(by, test_share=0.2, seed=3), MAKING)
    cast = {found.persona.name: found.persona.language for found in list_personas().found}
    report = check_source(tmp_path / "dataset", cast)
    assert report.is_usable
    assert (
        sum(rows for file, rows in report.files.items() if "baseline" not in file)
        == 5933 + 1451 + 1535 + 239
    )
