"""`rolellm scene replay`: the same again, or where it differs; and another model beside it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.here import rolellm_here
from helpers.improvising_model import Asked, improvising
from helpers.small_scene import NAMES, small_scene


@pytest.fixture(autouse=True)
def asked() -> Iterator[list[Asked]]:
    """Every call of the models of these tests."""
    with improvising(names=NAMES) as calls:
        yield calls


@pytest.fixture
def file(tmp_path: Path, asked: list[Asked]) -> Path:
    """A run of four turns, with its opening, two events and a narration."""
    out = tmp_path / "market.jsonl"
    options = ("--model", "improvising:one", "--out", str(out), "--no-keep", "--turns", "4", "--seed", "2")
    assert rolellm_here("scene", "run", str(small_scene(tmp_path)), *options).returncode == 0
    asked.clear()
    return out


def replay(file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return rolellm_here("scene", "replay", str(file), *options)


def test_the_tape_gives_the_same_and_asks_no_model(file: Path, asked: list[Asked]) -> None:
    lines = len(file.read_text(encoding="utf-8").splitlines()) - 1
    said = replay(file)

    assert (said.returncode, said.stdout, said.stderr) == (0, f"Identical: {lines} lines.\n", "")
    assert asked == []


def test_json_has_both_sides(file: Path) -> None:
    told = json.loads(replay(file, "--json").stdout)

    assert (told["lines"], told["same"], told["first_difference"]) == (len(told["recorded"]), True, None)
    assert [line["text"] for line in told["recorded"]] == [line["text"] for line in told["played"]]
    assert not {"calls", "made_by"} & set().union(*told["recorded"], *told["played"])


def test_models_say_it_live_again(file: Path, asked: list[Asked]) -> None:
    said = replay(file, "--live", "--trust-file-models")

    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("Identical: ")
    assert {one.style for one in asked} == {"one"}


def test_scripted_replies_live_are_the_same_when_they_come_in_the_same_order(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    model = "scripted:Pears are ripe.|Nobody is here at noon.|The rain has come early this year."
    scene = str(small_scene(tmp_path, narrator=None))
    rolellm_here("scene", "run", scene, "--model", model, "--out", str(out), "--turns", "3", "--no-keep")

    assert replay(out, "--live").returncode == 0
    assert replay(out).returncode == 0


def test_a_live_model_that_says_something_else_is_told_and_counts_as_a_failure(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with improvising(names=NAMES, length=3):
        said = replay(file, "--live", "--trust-file-models")
        told = json.loads(replay(file, "--live", "--trust-file-models", "--json").stdout)

    assert (said.returncode, said.stderr) == (1, "")
    first, recorded, now = said.stdout.splitlines()
    assert first == "The first 3 lines are identical, then:"
    assert recorded.startswith("  recorded: ")
    assert now.startswith("  now: ")
    assert recorded.removeprefix("  recorded: ") != now.removeprefix("  now: ")
    assert (told["same"], told["first_difference"]) == (False, 3)


def test_another_model_is_shown_beside_it_and_differing_is_no_failure(
    file: Path, asked: list[Asked]
) -> None:
    said = replay(file, "--model", "improvising:two")
    told = json.loads(replay(file, "--model", "improvising:two", "--json").stdout)

    assert (said.returncode, said.stderr) == (0, "")
    assert {one.style for one in asked} == {"two"}
    assert said.stdout.splitlines()[0].split() == ["TURN", "RECORDED", "IMPROVISING:TWO"]
    for side in ("recorded", "played"):
        assert [line["text"] for line in told[side] if line["text"] not in said.stdout] == []
    assert told["first_difference"] == 3
    assert [line["turn"] for line in told["played"]][-1] == 4


def test_a_line_that_was_changed_by_hand_is_found(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    changed = {**json.loads(lines[-1]), "text": "I confess."}
    file.write_text("\n".join([*lines[:-1], json.dumps(changed)]) + "\n", encoding="utf-8")

    said = replay(file)

    assert said.returncode == 1
    assert said.stdout.startswith(f"The first {len(lines) - 2} lines are identical, then:\n  recorded: ")
    assert "I confess.\n  now: " in said.stdout


def test_a_persona_that_has_changed_is_told(tmp_path: Path) -> None:
    persona, out = tmp_path / "eve.yaml", tmp_path / "out.jsonl"
    persona.write_text("id: eve\nname: Eve\ndescription: A baker.\n", encoding="utf-8")
    scene = small_scene(tmp_path, cast=["eve.yaml", {"id": "ben", "name": "Ben"}], opening=[], events=[])
    rolellm_here(
        "scene", "run", str(scene), "--model", "scripted:Bread!|No.", "--turns", "2", "-o", str(out)
    )
    assert replay(out).returncode == 0

    persona.write_text("id: eve\nname: Eve\ndescription: A thief.\n", encoding="utf-8")
    said = replay(out)

    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == (
        "rolellm: The tape has no answer to this prompt: the scene, a persona or the program has changed "
        "since it was recorded; replay it with --live instead.\n"
    )
    persona.unlink()
    gone = replay(out)
    assert (gone.returncode, gone.stdout) == (2, "")
    assert "eve.yaml" in gone.stderr


def test_a_file_that_breaks_off_is_told_and_replays_up_to_there(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])
    said = replay(file)

    assert said.returncode == 0
    assert said.stderr.startswith(f"rolellm: {file} is truncated in line ")
    assert said.stdout.startswith("Identical: ")


def test_a_file_with_a_scene_alone_has_nothing_to_differ(file: Path) -> None:
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])

    assert replay(file).stdout == "Identical: 0 lines.\n"


def test_files_that_cannot_be_used(file: Path, tmp_path: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(b"".join([*lines[:3], b"{}\n", *lines[4:]]))

    for path, expected in (
        (
            tmp_path / "gone.jsonl",
            f"{tmp_path / 'gone.jsonl'} cannot be read (No such file or directory); ",
        ),
        (damaged, f"{damaged}, line 4: "),
    ):
        said = replay(path)
        assert (said.returncode, said.stdout) == (2, "")
        assert said.stderr.startswith(f"rolellm: {expected}")
        assert said.stderr.count("\n") == 1


def test_a_model_that_is_none_or_fails_is_told(file: Path) -> None:
    wrong = replay(file, "--model", "scriptd:x")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "(did you mean scripted?)" in wrong.stderr

    broken = replay(file, "--model", "improvising:mute")
    assert (broken.returncode, broken.stdout, broken.stderr) == (2, "", "rolellm: The model broke down.\n")
