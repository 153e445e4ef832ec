"""`rolellm doctor --calibrate`, with the measuring itself replaced."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.here import rolellm_here

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.llamacpp.tuning import calibration
from rolellm_agents.models.llamacpp.tuning.calibration import CalibratedTuning, Measured
from rolellm_agents.models.llamacpp.tuning.settings import Tuning, store_tuning, stored_tuning
from rolellm_tui.cli.doctor.checkup import run_checkup

QUICK = Tuning(flash_attention=True, n_threads=7)
DEFAULT = Measured(Tuning(), 600, 80)
BETTER = Measured(QUICK, 1200, 80)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What was measured; the better candidate is found quicker each time."""
    files: list[Path] = []

    def calibrate(path: Path, *, progress: Callable[[str], None]) -> CalibratedTuning:
        files.append(path)
        progress("Timing 2 candidates, round 1")
        return CalibratedTuning(QUICK, BETTER, (DEFAULT, BETTER))

    monkeypatch.setattr(calibration, "calibrate", calibrate)
    return files


def tuning_line() -> tuple[str, str]:
    """What the doctor says of the tuning."""
    (found,) = (one for one in run_checkup() if one.what == "tuning")
    return found.state, found.found


@pytest.mark.core
def test_people_see_a_table_with_the_chosen_line(measured: list[Path]) -> None:
    told = rolellm_here("doctor", "--calibrate")

    assert (told.returncode, measured) == (0, [embedded_gguf()])
    head, default, better, last = told.stdout.splitlines()
    assert head.split("  ")[0] == "WEIGHTS"
    assert "chosen" not in default
    assert better.split() == [
        "q8_0",
        "on",
        "f16",
        "7",
        "1200",
        "tokens",
        "80",
        "tokens",
        "0.50",
        "s",
        "←",
        "chosen",
    ]
    assert last == "Saved: a turn takes 17% less time than with the defaults."
    assert "about 8 seconds" in told.stderr
    assert "  Timing 2 candidates, round 1\n" in told.stderr


def test_programs_get_the_same_as_json(measured: list[Path]) -> None:
    told = rolellm_here("doctor", "--calibrate", "--json")

    answer: dict[str, Any] = json.loads(told.stdout)
    assert (answer["model"], answer["gain"]) == ("llamacpp:rolesmol", 0.167)
    assert Tuning(**answer["tuning"]) == QUICK
    assert [one["chosen"] for one in answer["candidates"]] == [False, True]
    assert answer["candidates"][0]["turn_seconds"] == 0.6


@pytest.mark.core
def test_the_defaults_are_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        calibration, "calibrate", lambda *_, **__: CalibratedTuning(Tuning(), DEFAULT, (DEFAULT, DEFAULT))
    )

    told = rolellm_here("doctor", "--calibrate")

    assert told.stdout.splitlines()[-1] == "The defaults stay: no other settings are clearly faster."
    assert stored_tuning(embedded_gguf()) == Tuning()


def test_the_doctor_says_what_is_used_and_whether_it_was_measured(measured: list[Path]) -> None:
    state, before = tuning_line()
    assert state == "note"
    assert before.startswith("q8_0 weights, flash attention off, f16 cache, ")
    assert before.endswith("; defaults, not measured")
    assert " cache, at most " in before

    rolellm_here("doctor", "--calibrate")

    used = "q8_0 weights, flash attention on, f16 cache, at most 7 threads; measured on this machine"
    assert tuning_line() == ("ok", used)


def test_only_what_is_needed_is_measured_and_then_nothing_is_said(measured: list[Path]) -> None:
    first = rolellm_here("doctor", "--calibrate", "--if-needed")
    again = rolellm_here("doctor", "--calibrate", "--if-needed")
    for_programs = rolellm_here("doctor", "--calibrate", "--if-needed", "--json")

    assert "← chosen" in first.stdout
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert (Tuning(**json.loads(for_programs.stdout)["tuning"]), for_programs.stderr) == (QUICK, "")
    assert len(measured) == 1


@pytest.mark.core
def test_without_the_condition_it_is_measured_anew(measured: list[Path]) -> None:
    store_tuning(embedded_gguf(), Tuning())

    rolellm_here("doctor", "--calibrate")

    assert len(measured) == 1
    assert stored_tuning(embedded_gguf()) == QUICK


@pytest.mark.core
def test_a_file_of_ones_own_is_measured_when_it_is_the_default(
    measured: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(b"GGUF")
    monkeypatch.setenv("ROLELLM_MODEL", f"llamacpp:{mine}")

    rolellm_here("doctor", "--calibrate")

    assert measured == [mine]
    assert stored_tuning(mine) == QUICK
    assert stored_tuning(embedded_gguf()) is None


def test_a_model_of_another_kind_leaves_nothing_to_measure(
    measured: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:Hello.")

    asked = rolellm_here("doctor", "--calibrate")
    needed = rolellm_here("doctor", "--calibrate", "--if-needed")

    assert asked.returncode == 2
    assert asked.stderr.startswith("rolellm: The model scripted:Hello. does not run in llama.cpp")
    assert (needed.returncode, needed.stdout, needed.stderr) == (0, "", "")
    assert [one for one in run_checkup() if one.what == "tuning"] == []
    assert measured == []


@pytest.mark.core
def test_a_busy_machine_is_told_and_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def calibrate(*_: object, **__: object) -> CalibratedTuning:
        raise ModelError("Other programs leave only 40% of the processors; try again.")

    monkeypatch.setattr(calibration, "calibrate", calibrate)

    told = rolellm_here("doctor", "--calibrate")

    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.endswith("rolellm: Other programs leave only 40% of the processors; try again.\n")
    assert stored_tuning(embedded_gguf()) is None


def test_nobody_waits_for_what_cannot_be_kept(
    measured: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("ROLELLM_HOME", str(tmp_path / "file" / "home"))

    told = rolellm_here("doctor", "--calibrate")

    assert told.returncode == 2
    assert "set ROLELLM_HOME to a folder you can write to" in told.stderr
    assert measured == []


def test_the_condition_alone_means_nothing() -> None:
    told = rolellm_here("doctor", "--if-needed")

    assert told.returncode == 2
    assert "--calibrate" in told.stderr
