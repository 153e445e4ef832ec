"""Answers of other programs as rows of tables, plain answers, and the paper's tables in one command."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.here import rolellm_here
from helpers.small_rolebench import ADA, BEN, GENERAL, SPECIFIC, write_cast, write_small_data

from rolellm_agents.errors import RoleBenchError
from rolellm_agents.evaluation.plain_answers import read_plain_answers

MODEL = ("--model", "scripted:I keep the bees.")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_cast(ADA, BEN)
    return write_small_data(tmp_path / "RoleBench")


def rows_file(file: Path, rows: list[dict[str, Any]]) -> str:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """Right answers to three of four questions, and an answer to none of them."""
    asked = [(role, *pair) for role, answers in SPECIFIC.items() for pair in answers.items()]
    rows = [{"role": role, "question": question, "prediction": text} for role, question, text in asked[:3]]
    nobody = {"role": "Cid", "question": "Eh?", "prediction": "No."}
    return rows_file(tmp_path / "mine.jsonl", [*rows, nobody])


def evaluated(data: Path, *options: str) -> dict[str, Any]:
    done = rolellm_here("eval", "rolebench", "--data", str(data), *options, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_predictions_are_a_row_beside_models_and_what_the_paper_printed(data: Path, mine: str) -> None:
    told = evaluated(data, *MODEL, "--predictions", mine, "--as", "ours", "--kind", "role_specific")
    rows = {row["model"]: row for row in told["rows"]}
    assert list(rows) == ["scripted:I keep the bees.", "ours", "RoleGPT (published)"]
    assert (rows["ours"]["n"], rows["ours"]["missing"], rows["ours"]["rouge_l_f1"]) == (3, 1, 1.0)
    assert "ours has no reply to 1 of 4 questions." in told["notes"]
    paper = {row["model"]: row for row in told["paper_table"]}
    assert paper["ours"]["spe"] == 1.0
    assert paper["RoleLLaMA-7B, Table 3"] == {
        "model": "RoleLLaMA-7B, Table 3",
        "strategy": "judged by GPT-3.5",
        "raw": 0.3755,
        "cus": 0.3294,
        "spe": 0.3814,
        "avg": 0.3621,
        "win": 0.5582,
        "printed": True,
    }


def test_predictions_need_no_model_and_are_named_by_their_file(data: Path, mine: str) -> None:
    told = evaluated(data, "--predictions", mine, "--kind", "role_specific")
    assert [row["model"] for row in told["rows"]] == ["mine", "RoleGPT (published)"]
    assert told["throughput"] == []


def test_with_plain_answers_the_papers_row_is_whole(data: Path, tmp_path: Path) -> None:
    plain = [{"instruction": question, "answer": "Yellow, I think."} for question in GENERAL[ADA]]
    told = evaluated(data, "-m", "scripted:Yellow.", "--raw", rows_file(tmp_path / "plain.jsonl", plain))
    (row, *_) = told["paper_table"]
    assert row["raw"] == pytest.approx(0, abs=0.5)
    assert row["avg"] == pytest.approx((row["raw"] + row["cus"] + row["spe"]) / 3, abs=1e-4)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"prediction": "I keep the bees."}, r"no role or no question"),
        ({"role": "Cid", "question": "Eh?", "prediction": "No."}, r"No row of .* answers a question"),
    ],
)
def test_predictions_that_do_not_fit_are_refused_before_anybody_is_asked(
    data: Path, tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    file, folder = rows_file(tmp_path / "odd.jsonl", [row]), tmp_path / "run"
    options = (*MODEL, "--predictions", file, "--out", str(folder))
    done = rolellm_here("eval", "rolebench", "--data", str(data), *options)
    assert done.returncode == 2
    assert re.search(message, " ".join(done.stderr.split()))
    assert not folder.exists()


def test_two_systems_of_one_name_are_refused(data: Path, mine: str) -> None:
    twice = ("--predictions", mine, "--predictions", mine)
    done = rolellm_here("eval", "rolebench", "--data", str(data), *twice)
    assert "Two systems have the name 'mine'" in " ".join(done.stderr.split())


def test_a_damaged_line_of_plain_answers_is_named(tmp_path: Path) -> None:
    file = tmp_path / "plain.jsonl"
    file.write_text('{"instruction": "Eh?", "answer": "No."}\n{"instruction": "Oh?"}\n')
    with pytest.raises(RoleBenchError, match="line 2: no question or no answer"):
        read_plain_answers(file)


def test_the_papers_tables_come_out_of_one_command(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    command = ("eval", "paper", "--data", str(data), *MODEL, "--out", str(folder))
    done = rolellm_here(*command, "--json")
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)["tables"]
    own = {
        title: [row["strategy"] for row in rows if row["model"] == MODEL[1]]
        for title, rows in tables.items()
    }
    assert own == {
        "Table 3: new instructions, English": ["system"],
        # The data has no Chinese questions and no held-out roles.
        "Table 4: new instructions, Chinese": [],
        "Table 5: new roles, English": [],
        "Table 7: ways of prompting": ["zero-shot", "few-shot-prompt", "few-shot-dialogue"],
    }
    assert all(any(row["printed"] for row in rows) for rows in tables.values())
    again = rolellm_here(*command)
    assert again.returncode == 0, again.stderr
    assert "RoleGLM-6B, Table 4" in again.stdout
