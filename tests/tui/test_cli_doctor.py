"""`rolellm doctor`."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import rolellm
from helpers.here import rolellm_here
from helpers.user_files import write_config, write_models, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_tui.cli.doctor.checkup import CheckupResult, run_checkup


def findings(text: str) -> dict[str, dict[str, Any]]:
    """What the doctor found, by what it looked at."""
    return {one["what"]: one for one in json.loads(text)}


def found_here() -> dict[str, CheckupResult]:
    """The same without a process."""
    return {finding.what: finding for finding in run_checkup()}


@pytest.mark.core
def test_all_is_well_with_a_fresh_home_and_looking_leaves_a_cache_and_digests_behind(home: Path) -> None:
    looked = rolellm("doctor", "--json")

    assert (looked.returncode, looked.stderr) == (0, "")
    found = findings(looked.stdout)
    assert {one["state"] for one in found.values()} <= {"ok", "note"}
    assert set(found) >= {
        *("rolellm", "langgraph", "llama.cpp", "settings", "model", "tuning", "personas", "conversations"),
        *("config folder", "data folder", "cache folder"),
    }
    assert set(found["model"]) == {"what", "state", "found", "advice"}
    assert found["model"]["found"] == "llamacpp:rolesmol works; preferred strategy system"
    assert found["data folder"]["found"] == str(home / "data")
    assert {place.name for place in home.iterdir()} == {"cache", "data"}
    # Digests of model files, which the cache's files are compared with.
    assert [place.name for place in (home / "data").iterdir()] == ["checked"]


def test_a_default_model_that_does_not_exist_is_a_problem() -> None:
    write_config('model = "workstation"\n')

    looked = rolellm_here("doctor", "--json")
    for_people = rolellm_here("doctor").stdout

    assert looked.returncode == 1
    found = findings(looked.stdout)
    assert [what for what, one in found.items() if one["state"] == "problem"] == ["model"]
    assert found["model"]["found"].startswith("There is no model 'workstation'")
    assert f"FIX   model: {found['model']['found']}\n" in for_people
    assert "ok    default: workstation with the model's preferred strategy\n" in for_people


def test_a_setting_nobody_knows_is_a_problem() -> None:
    write_config('modell = "llamacpp:smollm2"\n')

    assert found_here()["settings"].state == "problem"
    assert "'modell'" in found_here()["settings"].found


def test_a_broken_persona_is_only_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:Hello.")
    broken = write_persona("id: Broken!\nname: B\ndescription: B\n", "broken.yaml")

    notes = [one for one in run_checkup() if one.what == "personas" and one.state == "note"]

    assert [note.found.startswith(f"{broken}, line 1: 'id'") for note in notes] == [True]


def test_a_damaged_transcript_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:Hello.")
    place = user_paths().transcript
    place.parent.mkdir(parents=True)
    place.write_bytes(b"This is no database. " * 1000)

    found = found_here()["conversations"]

    assert found.state == "problem"
    assert found.found.startswith(f"{place} is not a transcript or is damaged")


def test_the_strategy_that_suits_the_model_is_told() -> None:
    write_models('[models.mine]\nspec = "scripted:Hello."\nstrategy = "zero-shot"\n')
    write_config('model = "mine"\n')
    told = [one.found for one in run_checkup()]
    assert "mine with the model's preferred strategy" in told
    assert "mine works; preferred strategy zero-shot" in told


def test_a_strategy_of_a_model_that_nobody_knows_is_a_problem() -> None:
    write_models('[models.mine]\nspec = "scripted:Hello."\nstrategy = "sytem"\n')
    write_config('model = "mine"\n')
    (problem,) = [one.found for one in run_checkup() if one.state == "problem"]
    assert f"{user_paths().models_file}, [models.mine]: There is no strategy 'sytem'" in problem


def test_a_strategy_nobody_knows_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer would fail with it."""
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:Hello.")
    monkeypatch.setenv("ROLELLM_STRATEGY", "sytem")

    assert [one.found for one in run_checkup() if one.state == "problem"] != []


def test_a_models_file_that_cannot_be_used_is_a_problem() -> None:
    """`rolellm models list` fails with it."""
    write_models("[models.parrot]\n")

    problems = [one.found for one in run_checkup() if one.state == "problem"]

    assert [str(user_paths().models_file) in problem for problem in problems] == [True]


def test_folders_below_a_regular_file_are_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("ROLELLM_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:Hello.")

    found = found_here()

    assert {found[f"{what} folder"].state for what in ("config", "data", "cache")} == {"problem"}


def test_a_key_is_told_of_but_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("ROLELLM_MODEL", "openai:gpt-4o-mini")

    found = run_checkup()

    assert CheckupResult("OPENAI_API_KEY", "ok", "set") in found
    assert "sk-secret" not in str(found)


def test_a_price_list_is_shown_or_its_mistake_named() -> None:
    file = user_paths().prices_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('["openai:m"]\nread = 1\nwritten = 2\n')
    assert found_here()["prices.toml"].found == "openai:m"

    file.write_text('["openai:m"]\nred = 1\nwritten = 2\n')
    mistake = found_here()["prices"]
    assert mistake.state == "problem"
    assert '["openai:m"] red' in mistake.found
