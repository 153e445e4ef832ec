"""`rolellm eval strategies`."""

import json
from pathlib import Path

import pytest
from helpers.here import rolellm_here
from helpers.user_files import ADA, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.prompting.strategies import STRATEGIES


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One question to each of two personas of the user's."""
    write_persona()
    write_persona(ADA.replace("ada", "ben").replace("Ada", "Ben"), "ben.yaml")
    file = tmp_path / "rolebench-eng" / "instruction-generalization" / "role_specific" / "test.jsonl"
    file.parent.mkdir(parents=True)
    rows = [
        {"role": role, "question": "Who keeps the bees?", "generated": ["I keep the bees."], "type": "x"}
        for role in ("Ada", "Ben")
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def bench(data: Path, *options: str) -> tuple[int, str, str]:
    done = rolellm_here(
        "eval", "strategies", "--data", str(data), "--model", "scripted:I keep the bees.", *options
    )
    return done.returncode, done.stdout, done.stderr


def test_json_tells_a_row_for_each_strategy_and_stderr_where_the_run_is(data: Path) -> None:
    code, out, err = bench(data, "--json")
    assert code == 0
    rows = json.loads(out)
    assert [(row["strategy"], row["n"], row["rouge_l_f1"]) for row in rows] == [
        (name, 2, 1.0) for name in STRATEGIES
    ]
    (run,) = user_paths().runs.iterdir()
    assert err == f"rolellm: The run is kept in {run}.\n"
    # The same again is the same run, which is complete.
    items = (run / "items.jsonl").read_bytes()
    assert bench(data, "--json") == (0, out, err)
    assert (run / "items.jsonl").read_bytes() == items


def test_a_table_shows_the_figures_with_their_intervals(data: Path, tmp_path: Path) -> None:
    code, out, _ = bench(data, "-s", "system", "-s", "retrieval", "--out", str(tmp_path / "run"))
    assert code == 0
    head, system, retrieval = out.splitlines()
    assert head.startswith("strategy")
    assert head.endswith("rouge l f1 less system")
    assert system.startswith("system ")
    assert "1.0 [1.0, 1.0]" in system
    assert retrieval.rstrip().endswith("0.0 [0.0, 0.0]")
    assert (tmp_path / "run" / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--strategy", "retreival"), "There is no strategy 'retreival' (did you mean retrieval?)"),
        (("--recall", "chrome"), "There is no recall method 'chrome'"),
        (("--personas", "shrek"), "None of the personas has role_specific questions"),
        (("--general",), "holds no rolebench-eng/instruction-generalization/general/test.jsonl"),
        (("--noise", "1.5"), "--noise"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_what_cannot_be_compared_is_told(data: Path, options: tuple[str, ...], told: str) -> None:
    code, out, err = bench(data, *options)
    assert (code, out) == (2, "")
    assert told in err
