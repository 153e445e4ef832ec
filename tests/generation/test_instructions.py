"""General instructions: the bundled ones, and those of others."""

import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.shared_data import shared_data

from rolellm_agents.datasets import find_file
from rolellm_agents.datasets.near_duplicates import near_groups
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.generation.instructions import bundled_instructions, read_instructions


def written(tmp_path: Path, *rows: Any) -> Path:
    file = tmp_path / "mine.jsonl"
    file.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return file


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_hundred_in_each_language_are_bundled_of_all_categories_and_all_different(language: str) -> None:
    held = bundled_instructions().of("zh" if language == "zh" else "en")
    assert len(held) == 100
    assert Counter(one.category for one in held).keys() == {"open", "commonsense", "knowledge"}
    assert min(Counter(one.category for one in held).values()) >= 33
    assert {one.category for one in held[:3]} == {"open", "commonsense", "knowledge"}
    assert len({one.id for one in held}) == 100
    assert all(len(group) == 1 for group in near_groups([one.text for one in held]))


def test_rows_are_read_with_whatever_they_tell(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        {"id": "a", "instruction": "Say it.", "category": "open", "language": "en"},
        {"question": " Translate this: ", "input": "你好", "id": 7},
        "",
        {"prompt": "说说月亮。"},
        {"instruction": "Say it.", "id": "again"},
        {"instruction": "Say it twice.", "id": "a"},
    )
    read = read_instructions(file)
    assert [(one.id, one.language, one.category) for one in read.all[:2]] == [
        ("a", "en", "open"),
        ("7", "en", ""),
    ]
    assert read.all[1].text == "Translate this:\n你好"
    assert [one.text for one in read.of("zh")] == ["说说月亮。"]
    assert read.repeated == 1
    assert len({one.id for one in read.all}) == len(read.all) == 4


def test_general_questions_of_rolebench_are_instructions() -> None:
    read = read_instructions(find_file(shared_data("rolebench"), "test", kind="general"))
    assert len(read.of("en")) > 50
    assert read.repeated > 0, "each is put to several roles"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "line 2 is not JSON; correct the line"),
        ({"text": "Say it."}, "line 2 has no text as “instruction”"),
        ({"instruction": 3}, "line 2 has no text"),
        ("[]", "line 2 has no text"),
    ],
)
def test_a_line_that_is_none_is_told_with_its_number(tmp_path: Path, row: Any, said: str) -> None:
    with pytest.raises(RoleBenchError, match=said):
        read_instructions(written(tmp_path, {"instruction": "Say it."}, row))


def test_a_file_that_is_not_there_or_empty_is_told(tmp_path: Path) -> None:
    with pytest.raises(RoleBenchError, match="There is no file"):
        read_instructions(tmp_path / "none.jsonl")
    with pytest.raises(RoleBenchError, match="holds no instructions"):
        read_instructions(written(tmp_path, ""))
    with pytest.raises(RoleBenchError, match="holds no saved data set"):
        read_instructions(tmp_path)


def saved(tmp_path: Path) -> Path:
    (tmp_path / "state.json").write_text("{}")
    return tmp_path


def test_a_saved_data_set_is_read_by_its_own_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"instruction": "Say it.", "label": 3}, {"instruction": ""}]
    loaded = {"train": rows, "test": [{"question": "And this?"}]}
    package = SimpleNamespace(load_from_disk=lambda folder: loaded if folder == str(tmp_path) else None)
    monkeypatch.setitem(sys.modules, "datasets", package)
    assert [one.text for one in read_instructions(saved(tmp_path)).all] == ["Say it.", "And this?"]
    monkeypatch.setattr(package, "load_from_disk", lambda _: rows)
    assert [one.text for one in read_instructions(tmp_path).all] == ["Say it."]

    def broken(_: str) -> None:
        raise OSError("no arrow file")

    monkeypatch.setattr(package, "load_from_disk", broken)
    with pytest.raises(RoleBenchError, match=r"cannot be read as a data set \(no arrow file\)"):
        read_instructions(tmp_path)


def test_without_that_package_it_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(RoleBenchError, match="“pip install datasets” installs it, or give a JSONL file"):
        read_instructions(saved(tmp_path))
