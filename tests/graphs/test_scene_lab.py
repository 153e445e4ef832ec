"""The scene lab: what its rows say, and that it goes on where it was stopped."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.improvising_model import Asked, improvising
from helpers.small_scene import NAMES, small_scene

from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.metrics import distinct_n
from rolellm_agents.scene import load_scene
from rolellm_graphs.scene.lab import LabRequest, LabRow, run_lab
from rolellm_graphs.scene.run import Played
from rolellm_graphs.scene.stage import Stage

ONE, OTHER = "improvising:one", "improvising:other"


class Killed(BaseException):
    """What no code expects."""


@pytest.fixture(autouse=True)
def asked() -> Iterator[list[Asked]]:
    """Every call of the models of these tests."""
    with improvising(names=NAMES) as calls:
        yield calls


def request(folder: Path, *models: str, **told: Any) -> LabRequest:
    changes = told.pop("changes", {})
    settings = {"seeds": 3, "turns": 4, **told}
    return LabRequest(loaded=load_scene(small_scene(folder, **changes)), models=models, **settings)


def played(lab: LabRequest, folder: Path, **told: Any) -> list[LabRow]:
    return asyncio.run(run_lab(lab, folder, **told))


def without_times(rows: Sequence[LabRow]) -> list[LabRow]:
    return [replace(row, seconds=0.0) for row in rows]


class Kept:
    """Keeps what it is told of runs, and may stop the lab there."""

    def __init__(self, *, stop_after: int | None = None) -> None:
        self.runs: dict[tuple[str, int], list[Played]] = {}
        self._stop_after = stop_after

    def __call__(self, model: str, seed: int, stage: Stage, played: list[Played]) -> None:
        self.runs[model, seed] = played
        if self._stop_after is not None and len(self.runs) > self._stop_after:
            raise Killed


def test_a_row_tells_what_came_of_a_models_runs(tmp_path: Path, asked: list[Asked]) -> None:
    kept, steps = Kept(), list[tuple[int, int]]()
    lab = request(tmp_path, ONE, OTHER, turns=6)

    rows = played(lab, tmp_path / "lab", on_run=kept, on_progress=lambda *step: steps.append(step))

    assert [row.model for row in rows] == [ONE, OTHER]
    assert [*kept.runs] == [(model, seed) for model in (ONE, OTHER) for seed in range(3)]
    assert steps == [(done, 6) for done in range(1, 7)]
    for row in rows:
        runs = [run for (model, _), run in kept.runs.items() if model == row.model]
        said = [[one.message for one in run if one.calls] for run in runs]
        calls = [one for one in asked if one.style == row.model.partition(":")[2]]
        turns = sum(map(len, said))
        again = sum(
            sum(call["by"] == "speak" for call in one.calls) - 1 for run in runs for one in run if one.calls
        )
        assert (row.runs, row.failed, row.turns, turns) == (3, 0, 6, 18)
        assert row.seconds > 0
        assert row.calls_per_turn == len(calls) / 18
        # The prompts of what was said again, of the narrator, and of directors count as well.
        assert row.prompt_tokens == pytest.approx(sum(one.read for one in calls) / 3)
        assert row.completion_tokens == pytest.approx(sum(one.said for one in calls) / 3)
        assert row.reused == pytest.approx(
            sum(one.read // 2 for one in calls) / sum(one.read for one in calls)
        )
        assert row.retried == again / 18
        assert row.faulty == sum("fault" in one.made_by for run in said for one in run) / 18
        words = [len(one.text.split()) for run in said for one in run]
        assert row.words == pytest.approx(sum(words) / len(words))
        assert row.words_ci95 is not None
        assert row.words_ci95[0] <= row.words <= row.words_ci95[1]
        assert row.distinct_2 == pytest.approx(
            sum(distinct_n([one.text for one in run], 2) for run in said) / 3
        )
        loudest = [max(Counter(one.speaker for one in run).values()) / 6 for run in said]
        assert row.loudest == pytest.approx(sum(loudest) / 3)
        assert row.endings == {"It was stopped.": 3}
    assert (
        rows[0].completion_tokens != rows[1].completion_tokens or rows[0].distinct_2 != rows[1].distinct_2
    )


def test_words_of_known_replies_are_counted_and_chinese_by_characters(tmp_path: Path) -> None:
    cast = [{"id": "ada", "name": "Ada"}, {"id": "ben", "name": "Ben"}]
    changes = {"cast": cast, "opening": [], "events": [], "narrator": None, "director": "round-robin"}
    english = request(tmp_path, "scripted:One two.|Three four five six.", seeds=1, changes=changes)
    chinese = request(
        tmp_path, "scripted:梨子很甜。|我不要梨子，谢谢！", seeds=1, changes={**changes, "language": "zh"}
    )

    (row,) = played(english, tmp_path / "en")
    (row_zh,) = played(chinese, tmp_path / "zh")

    assert (row.turns, row.words, row.loudest, row.words_ci95) == (4, 3.0, 0.5, None)
    assert (row_zh.words, row_zh.words_ci95) == (5.5, None)


def test_runs_end_as_their_scene_ends(tmp_path: Path) -> None:
    lab = request(tmp_path, ONE, turns=None, changes={"stop": {"turns": 3}})
    (row,) = played(lab, tmp_path / "lab")

    assert (row.turns, row.endings) == (3, {"It has had its 3 turns.": 3})


def test_seeds_begin_with_the_scenes_own_and_make_the_runs_differ(tmp_path: Path) -> None:
    kept = Kept()
    played(request(tmp_path, ONE, changes={"seed": 40}), tmp_path / "lab", on_run=kept)

    assert [seed for _, seed in kept.runs] == [40, 41, 42]
    assert len({one[-1].message.text for one in kept.runs.values()}) == 3


def test_a_lab_that_is_over_is_not_played_again(tmp_path: Path, asked: list[Asked]) -> None:
    lab = request(tmp_path, ONE)
    first = played(lab, tmp_path / "lab")
    asked.clear()

    assert played(lab, tmp_path / "lab") == first
    assert asked == []


@pytest.mark.parametrize("done", [1, 2, 4])
def test_a_lab_that_was_killed_goes_on_and_pays_for_no_run_twice(
    tmp_path: Path, asked: list[Asked], done: int
) -> None:
    lab = request(tmp_path, ONE, OTHER, seeds=2, turns=2)

    def kill(over: int, _total: int) -> None:
        if over == done:
            raise Killed

    whole = played(lab, tmp_path / "whole")
    in_all = len(asked)
    with pytest.raises(Killed):
        played(lab, tmp_path / "lab", on_progress=kill)
    rows = played(lab, tmp_path / "lab")

    assert without_times(rows) == without_times(whole)
    assert len(asked) == 2 * in_all


def test_a_run_that_was_killed_in_its_middle_is_played_from_its_beginning(
    tmp_path: Path, asked: list[Asked]
) -> None:
    lab = request(tmp_path, ONE)
    whole = played(lab, tmp_path / "whole")
    in_all = len(asked)
    with pytest.raises(Killed):
        played(lab, tmp_path / "lab", on_run=Kept(stop_after=1))
    asked.clear()

    again = Kept()
    rows = played(lab, tmp_path / "lab", on_run=again)

    assert [*again.runs] == [(ONE, 1), (ONE, 2)]
    assert without_times(rows) == without_times(whole)
    assert 0 < len(asked) < in_all


def test_a_torn_last_item_is_played_again(tmp_path: Path) -> None:
    lab = request(tmp_path, ONE)
    whole = played(lab, tmp_path / "lab")
    items = tmp_path / "lab" / "items.jsonl"
    items.write_bytes(items.read_bytes()[:-7])
    again = Kept()

    rows = played(lab, tmp_path / "lab", on_run=again)

    assert [*again.runs] == [(ONE, 2)]
    assert without_times(rows) == without_times(whole)


def test_a_run_that_fails_is_kept_as_failed_and_the_rest_goes_on(
    tmp_path: Path, asked: list[Asked]
) -> None:
    lab = request(tmp_path, "improvising:broken", ONE, seeds=4, turns=6)
    kept = Kept()

    broken, sound = played(lab, tmp_path / "lab", on_run=kept)

    assert broken.failed >= 1
    assert broken.endings["The model broke down."] == broken.failed
    assert (broken.runs, sound.runs, sound.failed, sound.turns) == (4, 4, 0, 6)
    assert broken.turns < 6
    assert len(kept.runs) == 8
    asked.clear()
    assert played(lab, tmp_path / "lab") == [broken, sound]
    assert asked == []


def test_a_model_that_says_nothing_at_all_has_a_row(tmp_path: Path) -> None:
    lab = request(tmp_path, "improvising:mute", seeds=2)

    (row,) = played(lab, tmp_path / "lab")

    assert (row.runs, row.failed, row.turns, row.words_ci95, row.loudest) == (2, 2, 0, None, 0.0)


def test_a_wrong_model_is_told_before_anything_is_played(tmp_path: Path, asked: list[Asked]) -> None:
    with pytest.raises(ModelError, match=r"^There is no provider 'scriptd' \(did you mean scripted\?\)"):
        played(request(tmp_path, ONE, "scriptd:x"), tmp_path / "lab")

    assert asked == []
    assert not (tmp_path / "lab").exists()


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"seeds": 4}, "another seeds (3, now 4)"),
        ({"turns": 5}, "another turns (4, now 5)"),
        ({"sampling": {"temperature": 0.2}}, "another sampling ({}, now"),
        ({"changes": {"title": "Night"}}, "another scene ("),
    ],
)
def test_a_folder_of_another_lab_is_refused_and_left_as_it_is(
    tmp_path: Path, told: dict[str, Any], expected: str
) -> None:
    folder = tmp_path / "lab"
    played(request(tmp_path, ONE), folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}

    with pytest.raises(StorageError) as refused:
        played(request(tmp_path, ONE, **told), folder)

    assert str(refused.value).startswith(f"The run in {folder} was started with {expected}")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(StorageError) as told:
        played(request(tmp_path, ONE), tmp_path / "file" / "lab")

    assert str(tmp_path / "file" / "lab") in str(told.value)
