"""`rolellm data context-instruct` and `rolellm data rolegpt`."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.broken_servers import api_error, serving
from helpers.here import rolellm_here
from helpers.user_files import ADA, write_persona

from rolellm_agents.config.paths import user_paths

QUESTIONS = json.dumps(
    {
        "questions": [
            {
                "question": "Ada, who keeps the bees now?",
                "line": 1,
                "reason": "Whole.",
                "confidence": "high",
            }
        ]
    }
)


@pytest.fixture(autouse=True)
def _ada() -> None:
    write_persona()
    write_persona(ADA.replace("ada", "ben").replace("Ada", "Ben"), "ben.yaml")


def data(*arguments: str) -> tuple[int, str, str]:
    done = rolellm_here("data", *arguments)
    return done.returncode, done.stdout, done.stderr


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_rolegpt_tells_what_came_of_it_and_where_it_is(tmp_path: Path) -> None:
    out = tmp_path / "run"
    code, told, err = data(
        "rolegpt",
        "--personas",
        "ada, ben",
        "--limit",
        "2",
        "--model",
        "scripted:I keep them, stranger.",
        "-o",
        str(out),
    )
    assert (code, err) == (0, f"rolellm: The run is kept in {out}.\n")
    assert told.splitlines()[:3] == [
        f"4 clean rows: {out / 'samples.jsonl'}",
        f"4 baselines: {out / 'rolegpt_baseline.jsonl'}",
        f"16 left out: {out / 'left_out.jsonl'}",
    ]
    assert "Labels: near-duplicate 16" in told
    assert [row["persona"] for row in rows(out / "samples.jsonl")] == ["ada", "ada", "ben", "ben"]
    assert rows(out / "samples.jsonl")[0]["generated"] == ["I keep them, stranger."]


def test_the_same_command_again_makes_nothing_anew(tmp_path: Path) -> None:
    command = ("rolegpt", "--personas", "ada", "--limit", "1", "--model", "scripted:Bees.", "--json")
    code, told, _ = data(*command)
    assert code == 0
    first = json.loads(told)
    assert (first["complete"], first["items"], first["rows"]["samples"]) == (True, 6, 1)
    folder = Path(first["folder"])
    assert folder.parent == user_paths().runs
    before = (folder / "items.jsonl").read_bytes()
    assert json.loads(data(*command)[1]) == first
    assert (folder / "items.jsonl").read_bytes() == before


def test_other_instructions_and_strategies_can_be_given(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"instruction": "Say it."}\n{"question": "Sing it."}\n{"instruction": "Say it."}\n')
    code, told, err = data(
        *("rolegpt", "--personas", "ada", "--instructions", str(file), "--samples", "1", "--json"),
        *("-s", "zero-shot", "-s", "few-shot-prompt", "--model", "scripted:So be it."),
    )
    assert code == 0
    assert "1 instructions of" in err
    written = rows(Path(json.loads(told)["folder"]) / "samples.jsonl")
    assert [(row["question"], row["strategy"]) for row in written] == [
        ("Say it.", "zero-shot"),
        ("Sing it.", "zero-shot"),
        ("Say it.", "few-shot-prompt"),
        ("Sing it.", "few-shot-prompt"),
    ]


def test_context_instruct_asks_and_answers(tmp_path: Path) -> None:
    out = tmp_path / "run"
    code, told, _ = data(
        *("context-instruct", "--persona", "ada", "--limit", "1", "--questions", "1", "--at-once", "1"),
        *("--model", f"scripted:{QUESTIONS}|I keep them, stranger.", "--out", str(out), "--json"),
    )
    assert code == 0
    assert json.loads(told)["items"] == 2
    (row,) = rows(out / "samples.jsonl") + rows(out / "left_out.jsonl")
    assert (row["question"], row["generated"]) == (
        "Ada, who keeps the bees now?",
        ["I keep them, stranger."],
    )
    item = rows(out / "items.jsonl")[1]["value"]
    assert {"confidence", "reason", "evidence", "labels", "prompts", "model", "tokens"} <= set(item)


def test_a_dry_run_asks_nobody_and_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = (
        "rolegpt",
        "--personas",
        "ada",
        "--limit",
        "2",
        "--model",
        "scripted:Bees.",
        "--out",
        str(out),
    )
    code, told, err = data(*command, "--dry-run", "--price-read", "1", "--price-written", "2")
    assert (code, err) == (0, "")
    assert told.startswith("12 items, 0 of them done; 12 calls are left: about ")
    assert "at a cost of 0.00, by a rule of thumb." in told
    assert not out.exists()
    data(*command)
    measured = json.loads(data(*command, "--dry-run", "--json", "--limit", "3")[1])
    assert (measured["items"], measured["done"], measured["calls"], measured["measured"]) == (
        18,
        12,
        6,
        True,
    )
    code, told, _ = data("context-instruct", "-p", "ada", "--dry-run", "--model", "scripted:x")
    assert code == 0
    assert "calls are left" in told


def test_a_budget_ends_the_run_and_tells_how_to_go_on(tmp_path: Path) -> None:
    command = ("rolegpt", "--personas", "ada", "--model", "scripted:Bees.", "--out", str(tmp_path / "run"))
    code, told, err = data(*command, "--max-tokens-total", "3000", "--json")
    assert code == 0
    assert "The budget is spent, with " in err
    assert "continue with a greater --max-tokens-total or --max-cost." in err
    first = json.loads(told)
    assert first["stopped"] == "budget"
    assert first["tokens"]["read"] + first["tokens"]["written"] <= 3000
    code, _, err = data(*command, "--max-cost", "1")
    assert code == 2
    assert "limit requires prices; set --price-read" in err


def test_what_failed_is_one_sentence_and_exit_code_two(tmp_path: Path) -> None:
    with serving(api_error(404, "The model `m` does not exist")) as server:
        code, told, err = data(
            *(
                "rolegpt",
                "--personas",
                "ada",
                "--limit",
                "1",
                "--model",
                "openai:m",
                "--base-url",
                server.url,
            ),
            *("--out", str(tmp_path / "run"), "--json"),
        )
    assert code == 2
    assert json.loads(told)["failed"] == 6
    assert "rolellm: 6 items failed (" in err
    assert "run the same command again to retry them; finished items are not computed again." in err
    assert not (tmp_path / "run" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rolegpt", "--personas", "nobody"), "There is no persona 'nobody'"),
        (("rolegpt", "--personas", " , "), "No persona is named"),
        (
            ("rolegpt", "--personas", "ada", "-s", "system"),
            "RoleGPT does not support the strategy 'system'",
        ),
        (("rolegpt", "--personas", "ada", "--instructions", "none.jsonl"), "There is no file none.jsonl"),
        (("context-instruct", "-p", "nobody"), "There is no persona 'nobody'"),
        (
            ("context-instruct", "-p", "ada", "-p", "ben", "--script", "x"),
            "A script belongs to one persona",
        ),
        (("context-instruct", "-p", "ada", "--script", "none.txt"), "There is no file none.txt"),
    ],
)
def test_what_cannot_be_is_told(arguments: tuple[str, ...], said: str) -> None:
    code, _, err = data(*arguments, "--model", "scripted:x")
    assert code == 2
    assert said in err
    assert err.count("\n") <= 2


def test_a_profile_of_one_line_is_told_and_still_asked(tmp_path: Path) -> None:
    write_persona("id: mo\nname: Mo\ndescription: Mo.\n", "mo.yaml")
    code, told, err = data(
        *("context-instruct", "-p", "mo", "--limit", "3", "--model", "scripted:prose", "--json"),
    )
    assert code == 0
    assert "Mo has neither knowledge nor demonstrations" in err
    assert json.loads(told)["filters"] == {"unreadable": 1}
