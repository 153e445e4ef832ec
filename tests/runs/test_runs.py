"""Runs: recorded item by item, and gone on with where they were stopped."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.hypotheses import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rolellm_agents.errors import StorageError
from rolellm_agents.runs.folder import open_run

CONFIG = {"role": "Hamlet", "segments": 3}

WRITER = """
import sys, time
from pathlib import Path
from rolellm_agents.runs.folder import open_run
with open_run(Path(sys.argv[1]), {"role": "Hamlet"}) as run:
    for number in range(len(run.items), 1_000_000):
        run.append(f"item {number}", {"text": "x" * 2000})
        print(number, flush=True)
"""


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", CONFIG) as run:
        assert run.items == {}
        run.append("one", {"notes": ["é", "你"]})
    with open_run(tmp_path / "run", CONFIG) as run:
        assert run.items == {"one": {"notes": ["é", "你"]}}
        run.append("two", 2)
        assert not (tmp_path / "run" / "manifest.json").exists()
        run.finish({"persona": "hamlet"})
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["items"], manifest["persona"]) == (2, "hamlet")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["config"] == CONFIG
    assert "rolellm-agents" in config["versions"]


def test_other_settings_are_another_run(tmp_path: Path) -> None:
    with open_run(tmp_path, CONFIG):
        pass
    with (
        pytest.raises(StorageError, match=r"started with another segments \(3, now 4\); use the same"),
        open_run(tmp_path, {**CONFIG, "segments": 4}),
    ):
        pass


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        open_run(tmp_path, CONFIG),
        pytest.raises(StorageError, match="Another process works on"),
        open_run(tmp_path, CONFIG),
    ):
        pass
    with open_run(tmp_path, CONFIG):
        pass


@pytest.mark.parametrize("file", ["config.json", "items.jsonl"])
def test_damage_is_told(tmp_path: Path, file: str) -> None:
    with open_run(tmp_path, CONFIG) as run:
        run.append("one", 1)
    (tmp_path / file).write_text("{]\n")
    with pytest.raises(StorageError, match=f"{file} is damaged"), open_run(tmp_path, CONFIG):
        pass


@examples(0.15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(max_size=5), st.text(max_size=80), min_size=1, max_size=3), st.data())
def test_a_line_cut_anywhere_costs_that_line_alone(
    tmp_path_factory: pytest.TempPathFactory, items: dict[str, str], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("run")
    with open_run(folder, CONFIG) as run:
        for key, value in items.items():
            run.append(key, value)
    file = folder / "items.jsonl"
    content = file.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    file.write_bytes(content[:cut])
    whole = content[:cut].count(b"\n")
    with open_run(folder, CONFIG) as run:
        assert list(run.items.items()) == list(items.items())[:whole]
        run.append("after the kill", 1)
    with open_run(folder, CONFIG) as run:
        assert run.items["after the kill"] == 1
        assert len(run.items) == whole + 1


@pytest.mark.core
def test_what_was_told_to_be_written_survives_a_kill(tmp_path: Path) -> None:
    told = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(20):
            told = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        with open_run(tmp_path, {"role": "Hamlet"}) as run:
            assert len(run.items) > told
            assert list(run.items) == [f"item {number}" for number in range(len(run.items))]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be"), open_run(tmp_path / "file" / "run", CONFIG):
        pass


def test_a_long_run_leaves_its_items_on_disk_and_finds_them_by_their_places(tmp_path: Path) -> None:
    with open_run(tmp_path, CONFIG, in_memory=False) as run:
        places = {key: run.append(key, {"text": key * 3}) for key in ("one", "二", "three")}
        assert run.read(places["二"]) == {"text": "二二二"}
        run.append("one", {"text": "again"})
    with open_run(tmp_path, CONFIG, in_memory=False) as run:
        found = [*run.stored()]
        assert [(key, value["text"]) for _, key, value in found] == [
            ("one", "oneoneone"),
            ("二", "二二二"),
            ("three", "threethreethree"),
            ("one", "again"),
        ]
        assert {key: place for place, key, _ in found[:3]} == places
        run.finish({"rows": 3})
        assert json.loads((tmp_path / "manifest.json").read_text())["rows"] == 3
        run.reopen()
        assert not (tmp_path / "manifest.json").exists()
    with open_run(tmp_path, CONFIG) as short:
        assert short.items["one"] == {"text": "again"}


@examples(0.15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 400_000), st.integers(1, 4))
def test_a_long_line_that_was_cut_is_removed(
    tmp_path_factory: pytest.TempPathFactory, cut: int, lines: int
) -> None:
    folder = tmp_path_factory.mktemp("run")
    with open_run(folder, CONFIG, in_memory=False) as run:
        for number in range(lines):
            run.append(str(number), "x" * 100_000)
    file = folder / "items.jsonl"
    content = file.read_bytes()[:cut]
    file.write_bytes(content)
    with open_run(folder, CONFIG, in_memory=False) as run:
        assert [key for _, key, _ in run.stored()] == [
            str(number) for number in range(content.count(b"\n"))
        ]
        place = run.append("after", 1)
        assert run.read(place) == 1


def test_a_long_run_with_a_damaged_line_tells_which(tmp_path: Path) -> None:
    with open_run(tmp_path, CONFIG, in_memory=False) as run:
        run.append("one", 1)
    with (tmp_path / "items.jsonl").open("a") as file:
        file.write('{"key": 3, "value": 1}\n')
    with (
        open_run(tmp_path, CONFIG, in_memory=False) as run,
        pytest.raises(StorageError, match=r'damaged .*"key": 3.*remove that line'),
    ):
        list(run.stored())
