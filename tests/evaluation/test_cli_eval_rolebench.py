"""`rolellm eval rolebench`."""

import json
from pathlib import Path

import pytest
from helpers.broken_servers import api_error, serving
from helpers.here import rolellm_here
from helpers.small_rolebench import ADA, BEN, write_cast, write_small_data
from helpers.user_files import write_models

from rolellm_agents.config.paths import user_paths

MODEL = ("--model", "scripted:I keep the bees.")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_cast(ADA, BEN)
    return write_small_data(tmp_path / "RoleBench")


def bench(data: Path, *options: str) -> tuple[int, str, str]:
    done = rolellm_here("eval", "rolebench", "--data", str(data), *options)
    return done.returncode, done.stdout, done.stderr


def test_json_has_a_row_for_each_system_and_kind(data: Path) -> None:
    code, out, err = bench(data, *MODEL, "-s", "system", "-s", "retrieval", "--json")
    assert code == 0
    told = json.loads(out)
    rows = [(row["model"], row["strategy"], row["kind"], row["n"]) for row in told["rows"]]
    assert rows == [
        ("scripted:I keep the bees.", "system", "role_specific", 4),
        ("scripted:I keep the bees.", "retrieval", "role_specific", 4),
        ("RoleGPT (published)", "rolegpt", "role_specific", 2),
        ("scripted:I keep the bees.", "system", "general", 2),
        ("scripted:I keep the bees.", "retrieval", "general", 2),
    ]
    for row in told["rows"]:
        assert {"rouge_l_f1", "paper", "ci95", "words"} <= row.keys()
    assert told["rows"][0]["ci95"][0] <= told["rows"][0]["rouge_l_f1"] <= told["rows"][0]["ci95"][1]
    assert [one["question"] for one in told["overlap"]] == ["How many hives have you?"]
    assert told["made_from"] is None
    (run,) = user_paths().runs.iterdir()
    assert told["folder"] == str(run)
    assert err.splitlines() == [
        f"rolellm: The run is kept in {run}.",
        "rolellm: 1 of 6 questions are known from training; scores of new questions are reported "
        "separately.",
    ]
    # The same again is the same run, and nobody is asked.
    items = (run / "items.jsonl").read_bytes()
    assert bench(data, *MODEL, "-s", "system", "-s", "retrieval", "--json") == (0, out, err)
    assert (run / "items.jsonl").read_bytes() == items


def test_a_table_for_each_kind_has_the_published_answers_last(data: Path, tmp_path: Path) -> None:
    code, out, _ = bench(data, *MODEL, "-s", "system", "-s", "retrieval", "--out", str(tmp_path / "run"))
    assert code == 0
    specific, general, paper, *speed = out.strip().split("\n\n")
    title, head, *rows = specific.splitlines()
    assert title == "role-specific: 4 questions to 2 roles"
    assert head.split()[:3] == ["MODEL", "STRATEGY", "F1"]
    assert "EMPTY" not in head  # what is nothing in every row is not shown
    assert [row.split("  ")[0] for row in rows] == [
        *["scripted:I keep the bees."] * 2,
        "RoleGPT (published)",
    ]
    # Of Ada's and Ben's two each: 1 and 0, .75 and .25.
    assert "[" in rows[0]
    assert "+.000 [+.000 +.000]" in rows[1]
    assert general.startswith("general: 2 questions to 2 roles")
    assert paper.splitlines()[1].split() == ["MODEL", "STRATEGY", "RAW", "CUS", "SPE", "AVG", "WIN"]
    assert "12 answers" in speed[0]
    assert "concurrency 8" in speed[0]
    assert speed[1] == f"Full results: {tmp_path / 'run' / 'results.json'}"


def test_judges_have_a_table_of_their_own(data: Path) -> None:
    words = "scripted:words that are no verdict"
    code, out, err = bench(data, *MODEL, "--judge", "rubric", "--judge-model", words, "--kind", "general")
    assert code == 0
    assert "The judge rubric is running." in err
    assert "JUDGE" in out
    assert "unparsed 2" in out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--strategy", "retreival"), "There is no strategy 'retreival' (did you mean retrieval?)"),
        (("--model", "no-such-model"), "There is no model 'no-such-model'"),
        (("--personas", "nobody"), "There is no persona 'nobody'"),
        (("--split", "role-generalization"), "none of its held-out roles"),
        (("--split", "roles"), "--split"),
        (("--kind", "special"), "--kind"),
        (("--language", "zh"), "holds no rolebench-zh/"),
        (("--limit", "0"), "--limit"),
        (("--judge", "oracle"), "There is no judge 'oracle'"),
    ],
)
def test_what_cannot_be_compared_is_told(data: Path, options: tuple[str, ...], told: str) -> None:
    model = () if options[0] == "--model" else MODEL
    code, out, err = bench(data, *model, *options)
    assert (code, out) == (2, "")
    assert told in err


def test_a_run_with_other_settings_is_refused(data: Path, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "run"))
    assert bench(data, *MODEL, *out)[0] == 0
    code, shown, err = bench(data, *MODEL, *out, "--limit", "1")
    assert (code, shown) == (2, "")
    assert "was started with another limit (null, now 1); use the same value, or another folder." in err


def test_answers_that_could_not_be_made_are_told_with_what_there_is(data: Path) -> None:
    with serving(api_error(400, "Not today.")) as server:
        write_models(f'[models.bad]\nspec = "openai:x"\nbase_url = "{server.url}"\n')
        code, out, err = bench(data, "--model", "bad", "--json")
    assert code == 2
    told = json.loads(out)
    assert (told["complete"], told["failed"]) == (False, 6)
    assert [(row["model"], row["n"], row["missing"]) for row in told["rows"]] == [
        ("bad", 0, 4),
        ("RoleGPT (published)", 2, 2),
        ("bad", 0, 2),
    ]
    assert err.splitlines()[-1].startswith("rolellm: 6 answers failed (")
    assert err.splitlines()[-1].endswith("Run the same command to retry.")
