"""The picture of how the loss fell."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from helpers.pictures import points_of

from rolellm_train.training import loss_curve
from rolellm_train.training.loss_curve import write_loss_curve

ITEMS: list[dict[str, Any]] = [
    *({"step": step, "loss": 3 / step} for step in range(1, 9)),
    *({"step": step, "eval_loss": 2 / step} for step in (4, 8)),
]


def texts_of(file: Path) -> set[str | None]:
    root = ET.parse(file).getroot()  # noqa: S314  # our own file
    return {element.text for element in root.iter() if element.tag.endswith("text")}


def test_steps_and_what_is_held_out_are_drawn(tmp_path: Path) -> None:
    write_loss_curve(tmp_path / "loss.svg", ITEMS)
    assert {"step", "loss", "training", "held out"} <= texts_of(tmp_path / "loss.svg")
    assert points_of(tmp_path / "loss.svg") == len(ITEMS)


def test_without_held_out_rows_there_is_no_line_for_them(tmp_path: Path) -> None:
    write_loss_curve(tmp_path / "loss.svg", ITEMS[:8])
    assert "training" in texts_of(tmp_path / "loss.svg")
    assert "held out" not in texts_of(tmp_path / "loss.svg")


def test_nothing_recorded_is_an_empty_picture(tmp_path: Path) -> None:
    write_loss_curve(tmp_path / "loss.svg", [])
    assert "loss" in texts_of(tmp_path / "loss.svg")


def test_without_matplotlib_training_ends_without_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss_curve, "can_draw", lambda: False)
    write_loss_curve(tmp_path / "loss.svg", ITEMS)
    assert not (tmp_path / "loss.svg").exists()
