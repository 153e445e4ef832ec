"""What can be named as a source of samples."""

from pathlib import Path

import pytest
from helpers.samples import row, written_rows

from rolellm_agents.datasets.sources import source_files, source_samples
from rolellm_agents.errors import RoleBenchError


def test_a_file_is_a_source_and_its_name_may_tell_its_part(tmp_path: Path) -> None:
    for name, part in (
        ("mine.jsonl", None),
        ("test.jsonl", "test"),
        ("rolegpt_baseline.jsonl", "rolegpt_baseline"),
    ):
        [file] = source_files(written_rows(tmp_path / name, [row()]))
        assert (file.name, file.part) == (name, part)


def test_of_a_run_its_samples_and_baselines_are_read(tmp_path: Path) -> None:
    written_rows(tmp_path / "items.jsonl", [{"key": "1", "value": {}}])
    written_rows(tmp_path / "left_out.jsonl", [row(question="Bad?")])
    written_rows(tmp_path / "samples.jsonl", [row(type="script_based", labels=["memory"], persona="ada")])
    (tmp_path / "rolegpt_baseline.jsonl").write_text("", encoding="utf-8")
    [(file, sample)] = source_samples(tmp_path)
    assert (file.part, sample.kind, sample.extra) == (
        None,
        "role_specific",
        {"labels": ["memory"], "persona": "ada"},
    )
    written_rows(tmp_path / "rolegpt_baseline.jsonl", [row()])
    assert [file.part for file in source_files(tmp_path)] == [None, "rolegpt_baseline"]


@pytest.mark.parametrize("start", [".", "rolebench-zh", "rolebench-zh/general"])
def test_a_folder_of_the_layout_is_read_from_its_root_and_below(tmp_path: Path, start: str) -> None:
    for kind in ("general", "role_specific"):
        written_rows(tmp_path / "rolebench-zh" / kind / "train.jsonl", [row()])
        written_rows(tmp_path / "rolebench-zh" / kind / "notes.jsonl", [{"no": "sample"}])
    files = source_files(tmp_path / start)
    assert len(files) == (1 if start.endswith("general") else 2)
    assert all(file.part == "train" and file.place.language == "zh" for file in files)
    assert [tmp_path / start / file.name for file in files] == [file.path for file in files]


def test_what_is_no_source_is_told(tmp_path: Path) -> None:
    with pytest.raises(RoleBenchError, match="There is no"):
        source_files(tmp_path / "gone")
    with pytest.raises(RoleBenchError, match="holds no samples"):
        source_files(tmp_path)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RoleBenchError, match=r"no samples\.jsonl yet"):
        source_files(tmp_path)
