"""`rolellm scene lab`: its table, its files, and going on."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.here import rolellm_here
from helpers.improvising_model import Asked, improvising
from helpers.small_scene import NAMES, small_scene
from helpers.user_files import conversation_ids, write_config

from rolellm_agents.config.paths import user_paths

BOTH = ("--models", "improvising:one, improvising:two")


@pytest.fixture(autouse=True)
def asked() -> Iterator[list[Asked]]:
    """Every call of the models of these tests."""
    with improvising(names=NAMES) as calls:
        yield calls


def lab(scene: Path, *options: str, seeds: int = 2, turns: int = 3) -> subprocess.CompletedProcess[str]:
    return rolellm_here("scene", "lab", str(scene), "--seeds", str(seeds), "--turns", str(turns), *options)


def test_a_row_for_each_model_and_files_that_replay(tmp_path: Path) -> None:
    out = tmp_path / "lab"
    said = lab(small_scene(tmp_path), *BOTH, "--out", str(out), "--json")

    assert (said.returncode, said.stderr) == (0, "")
    rows = json.loads(said.stdout)
    assert [(row["model"], row["runs"], row["failed"], row["turns"]) for row in rows] == [
        ("improvising:one", 2, 0, 3),
        ("improvising:two", 2, 0, 3),
    ]
    runs = sorted(out.glob("*-*-*.jsonl"))
    assert [run.name for run in runs] == [
        "1-improvising-one-0.jsonl",
        "1-improvising-one-1.jsonl",
        "2-improvising-two-0.jsonl",
        "2-improvising-two-1.jsonl",
    ]
    for run in runs:
        assert rolellm_here("scene", "replay", str(run)).returncode == 0
        assert rolellm_here("scene", "replay", str(run), "--live", "--trust-file-models").returncode == 0
    assert conversation_ids() == []


def test_the_table_and_the_report_say_the_same(tmp_path: Path) -> None:
    out = tmp_path / "lab"
    said = lab(small_scene(tmp_path), *BOTH, "--out", str(out))

    assert said.returncode == 0
    assert said.stderr == f"rolellm: The runs and report.md are in {out}.\n"
    head, *rows = said.stdout.splitlines()
    assert head.split()[:4] == ["MODEL", "RUNS", "FAILED", "TURNS"]
    report = (out / "report.md").read_text(encoding="utf-8")
    assert report.startswith("# Market day\n")
    assert "- improvising:two: 2 × It was stopped.\n" in report
    for row in rows:
        cells = [cell.strip() for cell in row.split("  ") if cell.strip()]
        assert "| " + " | ".join(cells) + " |\n" in report


def test_a_spec_with_bars_does_not_break_the_reports_table(tmp_path: Path) -> None:
    out = tmp_path / "lab"
    scene = small_scene(tmp_path, narrator=None)
    said = lab(scene, "--models", "scripted:Pears are ripe.|No.", "--out", str(out), seeds=1)

    assert said.returncode == 0
    row = (out / "report.md").read_text(encoding="utf-8").splitlines()[6]
    assert row.startswith("| scripted:Pears are ripe.\\|No. | 1 | 0 | 3.0 |")


def test_specs_that_look_alike_as_names_of_files_have_their_own(tmp_path: Path) -> None:
    out = tmp_path / "lab"
    long = "scripted:" + "so " * 60
    lab(
        small_scene(tmp_path),
        "--models",
        f"{long}a,{long}b,scripted:A b,scripted:a-b",
        "--out",
        str(out),
        seeds=1,
        turns=1,
    )

    heads = [json.loads(file.read_text(encoding="utf-8").splitlines()[0]) for file in out.glob("*-0.jsonl")]
    assert len({head["models"]["ada"] for head in heads}) == 4


def test_a_model_that_is_named_twice_plays_once(tmp_path: Path) -> None:
    said = lab(small_scene(tmp_path), "--models", "improvising:one,improvising:one", "--json", seeds=1)

    assert [row["model"] for row in json.loads(said.stdout)] == ["improvising:one"]


def test_the_same_command_goes_on_and_pays_for_nothing_twice(tmp_path: Path, asked: list[Asked]) -> None:
    scene, out = small_scene(tmp_path), tmp_path / "lab"
    first = lab(scene, *BOTH, "--out", str(out), "--json")
    (out / "report.md").unlink()
    calls = len(asked)
    items = (out / "items.jsonl").read_bytes().splitlines(keepends=True)
    (out / "items.jsonl").write_bytes(b"".join(items[:-1]) + items[-1][:-5])

    again = lab(scene, *BOTH, "--out", str(out), "--json")

    assert 0 < len(asked) - calls < calls / 2
    without_times = [
        [{**row, "seconds": None} for row in json.loads(said.stdout)] for said in (first, again)
    ]
    assert without_times[0] == without_times[1]
    asked.clear()
    assert lab(scene, *BOTH, "--out", str(out), "--json").stdout == again.stdout
    assert asked == []
    assert "| improvising:two | 2 | 0 | 3.0 |" in (out / "report.md").read_text(encoding="utf-8")


def test_failed_runs_have_their_place_in_the_row_and_the_report(tmp_path: Path) -> None:
    out = tmp_path / "lab"
    said = lab(
        small_scene(tmp_path), "--models", "improvising:mute,improvising:one", "--out", str(out), "--json"
    )

    assert (said.returncode, said.stderr) == (0, "")
    assert [(row["failed"], row["turns"]) for row in json.loads(said.stdout)] == [(2, 0), (0, 3)]
    assert "- improvising:mute: 2 × The model broke down.\n" in (out / "report.md").read_text(
        encoding="utf-8"
    )


def test_a_lab_without_a_folder_is_among_the_persons_runs_and_its_model_is_theirs(
    tmp_path: Path, asked: list[Asked]
) -> None:
    write_config('model = "improvising:mine"\n')

    assert lab(small_scene(tmp_path), seeds=1, turns=1).returncode == 0
    assert (user_paths().runs / "lab-market" / "report.md").exists()
    assert {one.style for one in asked} == {"mine"}


def test_a_manual_director_has_nobody_to_tell_it_and_says_so(tmp_path: Path) -> None:
    said = lab(small_scene(tmp_path, director="manual"), *BOTH, "--json", seeds=1, turns=1)

    assert said.returncode == 0
    assert said.stderr == "rolellm: The manual director needs a user, so the scene runs with “natural”.\n"


def complaint(said: subprocess.CompletedProcess[str]) -> str:
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("rolellm: ")
    assert said.stderr.count("\n") == 1
    return said.stderr.removeprefix("rolellm: ")


def test_what_is_named_wrong(tmp_path: Path, asked: list[Asked]) -> None:
    scene = small_scene(tmp_path)

    assert complaint(lab(scene, "--models", "improvising:one,scriptd:x")).startswith(
        "There is no provider 'scriptd' (did you mean scripted?)"
    )
    assert complaint(lab(scene, "--models", ", ,")) == (
        "--models ', ,' names no model; use a comma-separated list of PROVIDER:NAME.\n"
    )
    assert complaint(lab(scene, *BOTH, "--director", "biding")).startswith("There is no director 'biding' ")
    assert asked == []


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path, asked: list[Asked]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    scene, below = small_scene(tmp_path), tmp_path / "file" / "lab"

    assert str(below) in complaint(lab(scene, *BOTH, "--out", str(below)))
    assert asked == []

    out = tmp_path / "lab"
    lab(scene, *BOTH, "--out", str(out), seeds=1, turns=1)
    asked.clear()
    other = lab(scene, *BOTH, "--out", str(out), "--temperature", "0", seeds=1, turns=1)
    assert complaint(other).startswith(f"The run in {out} was started with another sampling ")
    assert asked == []
