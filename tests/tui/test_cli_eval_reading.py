"""`rolellm eval reading`: from two models to a table of results."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.here import rolellm_here
from helpers.user_files import write_models

CONVERSATIONS = 60
LIMIT = "6"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder like the corpus: one held-out persona."""
    write_models(
        '[models.yes]\nspec = "scripted:Aye, that I did."\n'
        '[models.no]\nspec = "scripted:No. I never did."\n'
    )
    folder = tmp_path / "corpus" / "en"
    folder.mkdir(parents=True)
    blocks = [
        f"## conversation: world\n> Did you hide key {number} of the keys?\nAye.\n\n"
        "> Where is it, Jack?\nHere.\n"
        for number in range(CONVERSATIONS)
    ]
    (folder / "jack-sparrow.md").write_text("# jack-sparrow\n\n" + "\n".join(blocks))
    return folder.parent


@pytest.fixture
def folder(data: Path, tmp_path: Path) -> Path:
    run = tmp_path / "run"
    said = reading(
        "prepare", "-m", "yes", "-m", "no", "--data", str(data), "--limit", LIMIT, "-o", str(run)
    )
    assert f"{LIMIT} questions, {LIMIT} pairs" in said
    return run


def reading(*arguments: str, stdin: str = "") -> str:
    said = rolellm_here("eval", "reading", *arguments, stdin=stdin)
    assert said.returncode == 0, said.stderr
    return said.stdout


def result(folder: Path, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reading("result", str(folder), "--json", *options))
    return found


def test_preparing_again_asks_for_nothing(folder: Path, data: Path) -> None:
    before = (folder / "items.jsonl").read_bytes(), (folder / "pairs.json").read_bytes()
    reading("prepare", "-m", "yes", "-m", "no", "--data", str(data), "--limit", LIMIT, "-o", str(folder))
    assert ((folder / "items.jsonl").read_bytes(), (folder / "pairs.json").read_bytes()) == before


def test_a_sheet_names_no_model(folder: Path) -> None:
    rows = json.loads(reading("sheet", str(folder)))
    assert len(rows) == int(LIMIT)
    assert not {"yes", "no", "system", "systems"} & {*rows[0], *rows[0]["first"]}


def test_pairs_are_read_with_one_key_and_the_reading_continues_where_it_stopped(folder: Path) -> None:
    first = reading("read", str(folder), "--reader", "ada", stdin="1\nx\n2\nu\nt\nq\n")
    assert "2 of 6 read" in first
    assert "Aye, that I did." in first
    again = reading("read", str(folder), "--reader", "ada", stdin="n\nn\nn\nn\n")
    assert "── 3 of 6" in again
    assert "6 of 6 read" in again
    (every, held_out) = result(folder)["comparisons"]
    assert (every["system"], every["other"], every["split"]) == ("no", "yes", None)
    assert (every["wins"] + every["losses"], every["ties"]) == (1, 5)
    assert held_out["split"] == "test_personas"


def test_answers_are_read_by_themselves(folder: Path) -> None:
    said = reading("read", str(folder), "--single", "--reader", "ada", stdin="\nav\nz\nu\ns\n\n")
    assert "3 of 12 read" in said
    shares = [one for one in result(folder)["answers"] if one["split"] is None]
    assert sum(one["good"]["n"] for one in shares) == 3
    assert sum(one["good"]["mean"] * one["good"]["n"] for one in shares) == pytest.approx(2)


def test_verdicts_of_a_file_are_added_and_those_on_something_else_refused(
    folder: Path, tmp_path: Path
) -> None:
    rows = json.loads(reading("sheet", str(folder)))
    theirs = tmp_path / "theirs.jsonl"
    lines = [{"item": row["pair"], "reader": "ben", "preferred": "first"} for row in rows]
    theirs.write_text("\n".join(map(json.dumps, lines)))
    assert "6 verdicts added" in reading("read", str(folder), "--verdicts", str(theirs))
    assert result(folder, "--reader", "ben")["readers"] == ["ben"]
    assert result(folder, "--reader", "ada")["comparisons"] == []

    theirs.write_text(json.dumps({"item": "other", "reader": "ben", "preferred": "tie"}))
    refused = rolellm_here("eval", "reading", "read", str(folder), "--verdicts", str(theirs))
    assert refused.returncode == 2
    assert "'other', which is not in" in refused.stderr


def test_a_model_reads_both_orders(folder: Path) -> None:
    write_models('[models.judge]\nspec = "scripted:no verdict"\n')
    said = reading("judge", str(folder), "--model", "judge")
    assert "0 pairs judged, 6 without a verdict" in said


def test_a_folder_without_pairs_and_one_model_are_refused(tmp_path: Path, data: Path) -> None:
    none = rolellm_here("eval", "reading", "read", str(tmp_path))
    assert "has no pairs to read" in none.stderr
    one = rolellm_here("eval", "reading", "prepare", "-m", "yes", "--data", str(data))
    assert one.returncode == 2
    assert "at least two different models" in one.stderr


def test_a_table_shows_the_results(folder: Path) -> None:
    assert "No verdicts yet" in reading("result", str(folder))
    reading("read", str(folder), "--reader", "ada", stdin="1\n" * 6)
    reading("read", str(folder), "--reader", "ada", "--single", stdin="\n" * 12)
    table = reading("result", str(folder))
    assert "WIN RATE" in table
    assert "IN VOICE" in table
    assert "100%" in table
