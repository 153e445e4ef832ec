"""`rolellm data`, but for the generators."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from helpers.here import rolellm_here
from helpers.samples import row, written_rows

from rolellm_agents.datasets import read_samples


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Sixty questions to two personas of the cast and one who is not in it."""
    rows = [
        row(
            role=role,
            question=f"{role}, what of thing{number}, place{number} and year {number}{role}?",
            generated=["I keep it in a box by the sea."],
            type="script_based",
        )
        for role in ("Thor", "Shrek", "Nobody Known")
        for number in range(20)
    ]
    return written_rows(tmp_path / "mine.jsonl", rows)


def complaint(said: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a mistake."""
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("rolellm: ")
    assert said.stderr.count("\n") == 1
    return said.stderr.removeprefix("rolellm: ").rstrip("\n")


def test_from_sources_to_a_data_set_that_does_not_leak(source: Path, tmp_path: Path) -> None:
    merged = rolellm_here("data", "merge", str(source), str(source), "--out", str(tmp_path / "merged"))
    assert merged.returncode == 0, merged.stderr
    assert "120 rows became 60: 60 were duplicates" in merged.stdout

    out = tmp_path / "dataset"
    split = rolellm_here("data", "split", str(tmp_path / "merged"), "--out", str(out), "--json")
    told = json.loads(split.stdout)
    assert (told["train"], told["test"], told["seed"]) == (48, 12, 0)

    checked = rolellm_here("data", "check", str(out))
    assert checked.returncode == 0
    assert "role-without-profile: roles without a profile" in checked.stdout
    assert "60 rows of 2 files: 0 leak, 0 are invalid" in checked.stdout

    stats = json.loads(rolellm_here("data", "stats", str(out), "--json").stdout)
    assert [(one["kind"], one["samples"], one["roles"]) for one in stats] == [("role_specific", 60, 3)]

    card = rolellm_here("data", "card", str(out), "--out", str(out / "README.md"), "--licence", "cc0-1.0")
    assert card.returncode == 0, card.stderr
    head = yaml.safe_load((out / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert head["license"] == "cc0-1.0"


def test_leaks_end_with_exit_code_1(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rolebench-eng" / "instruction-generalization" / "role_specific"
    for part in ("train", "test"):
        written_rows(folder / f"{part}.jsonl", [row(role="Thor", type=["script_based"])])
    said = rolellm_here("data", "check", str(tmp_path))
    assert said.returncode == 1
    assert "leak      1      question-in-train  rolebench-eng/" in said.stdout
    assert said.stderr == ""
    told = rolellm_here("data", "check", str(tmp_path), "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout)["findings"][0]["spots"][0]["line"] == 1
    with source.open("a", encoding="utf-8") as file:
        file.write("{\n")
    assert rolellm_here("data", "check", str(source)).returncode == 1


def test_nothing_wrong_is_said_so(tmp_path: Path) -> None:
    said = rolellm_here("data", "check", str(written_rows(tmp_path / "a.jsonl", [row(role="Thor")])))
    assert (said.returncode, said.stdout) == (0, "No faults in 1 rows of 1 file.\n")


def test_roles_can_be_held_out_by_name(source: Path, tmp_path: Path) -> None:
    said = rolellm_here(
        *("data", "split", str(source), "--by", "roles", "--hold-out", "thor"),
        *("--out", str(tmp_path / "dataset")),
    )
    assert said.stdout.startswith("40 rows to train on, 20 to test with.\n")
    test = tmp_path / "dataset" / "rolebench-eng" / "role-generalization" / "role_specific" / "test.jsonl"
    assert {one.role for one in read_samples(test)} == {"Thor"}


def test_converting_tells_who_has_no_instruction(source: Path, tmp_path: Path) -> None:
    said = rolellm_here(
        "data", "convert", str(source), "--to", "chatml", "--out", str(tmp_path / "c.jsonl")
    )
    assert said.stdout == f"60 samples in 60 rows.\n{tmp_path / 'c.jsonl'}\n"
    assert "20 samples have no instruction" in said.stderr
    assert "Nobody Known" in said.stderr
    bare = rolellm_here(
        *("data", "convert", str(source), "--to", "chatml", "--no-system", "--json"),
        *("--out", str(tmp_path / "b.jsonl")),
    )
    assert (json.loads(bare.stdout)["without_instruction"], bare.stderr) == ({}, "")
    lines = (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(len(json.loads(line)["messages"]) == 2 for line in lines)


def test_figures_are_printed_and_drawn(source: Path, tmp_path: Path) -> None:
    said = rolellm_here("data", "stats", str(source), "--plot", str(tmp_path / "lengths.svg"))
    assert said.returncode == 0
    assert "role-specific" in said.stdout
    assert (tmp_path / "lengths.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_card_without_a_file_is_printed(source: Path) -> None:
    said = rolellm_here("data", "card", str(source), "--name", "Mine")
    assert said.stdout.startswith("---\npretty_name: Mine\n")


def test_what_is_there_is_replaced_only_by_force(source: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.jsonl"
    there.write_text("mine\n", encoding="utf-8")
    commands = (
        ("data", "merge", str(source), "--out", str(there)),
        ("data", "convert", str(source), "--to", "alpaca", "--out", str(there)),
        ("data", "card", str(source), "--out", str(there)),
    )
    for command in commands:
        assert complaint(rolellm_here(*command)).startswith(
            (f"{there} exists already; ", f"{there} already exists; ")
        )
        assert there.read_text(encoding="utf-8") == "mine\n"
        assert rolellm_here(*command, "--force").returncode == 0
        assert there.read_text(encoding="utf-8") != "mine\n"
        there.write_text("mine\n", encoding="utf-8")


@pytest.mark.parametrize(
    "command", [("check",), ("stats",), ("card",), ("split", "--out", "out"), ("merge", "--out", "out")]
)
def test_mistakes_are_told_in_one_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    name, *options = command
    options = [str(tmp_path / "out") if option == "out" else option for option in options]
    gone = tmp_path / "gone"
    assert complaint(rolellm_here("data", name, str(gone), *options)).startswith(f"There is no {gone}; ")
    (tmp_path / "empty").mkdir()
    assert "holds no samples" in complaint(rolellm_here("data", name, str(tmp_path / "empty"), *options))
    other = written_rows(tmp_path / "other.jsonl", [{"text": "no sample"}])
    said = complaint(rolellm_here("data", name, str(other), *options))
    assert "holds no samples" in said or "other.jsonl, line 1: 'generated' is not a list of texts" in said
    assert not (tmp_path / "out").exists()


def test_wrong_options_are_told(source: Path, tmp_path: Path) -> None:
    said = rolellm_here("data", "split", str(source), "--hold-out", "Thor", "--out", str(tmp_path / "x"))
    assert complaint(said).startswith("--hold-out requires --by roles")
    said = rolellm_here("data", "split", str(source), "--test-share", "2", "--out", str(tmp_path / "x"))
    assert (said.returncode, "--test-share" in said.stderr) == (2, True)
    said = rolellm_here("data", "stats", str(source), "--plot", str(tmp_path / "x.gif"))
    assert complaint(said).endswith("name a file that ends in .svg or .png.")
