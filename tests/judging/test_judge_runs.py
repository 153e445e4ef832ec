"""Runs of judges: in order, kept as they go, gone on with, never asked twice."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.judging import ConversationTurn, Judged, JudgingError, Verdict
from rolellm_agents.judging.flaws import JudgedScene, JudgedSceneLine
from rolellm_agents.judging.json_form import (
    judged_from_json,
    judged_to_json,
    verdict_from_json,
    verdict_to_json,
)
from rolellm_agents.judging.recorded import read_verdicts
from rolellm_agents.judging.summary import summarize
from rolellm_agents.persona import Persona
from rolellm_graphs.judge.graph import compare_replies, judge_graph, judge_replies, judge_scenes
from rolellm_graphs.judge.panel import ReplyPanel

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


def reply(number: int, text: str = "") -> Judged:
    persona = Persona(id="ada", name="Ada", description="Ada keeps a lighthouse.")
    return Judged(
        key=f"k{number}",
        persona=persona,
        turns=(ConversationTurn("user", f"Q{number}?"),),
        reply=text or f"Answer {number}.",
        references=("Good.",),
    )


def verdict(subject: str, value: float | None = 1.0, measure: str = "voice", **changes: Any) -> Verdict:
    status: Any = "scored" if value is not None else "unparsed"
    return Verdict(
        **{
            "subject": subject,
            "measure": measure,
            "value": value,
            "status": status,
            "model": "m",
            **changes,
        }
    )


class Counting:
    """A judge of everything that counts whom it judged; the later an item, the sooner it is ready."""

    measures = ("voice", "length")
    measure = "preference"

    def __init__(self, fails: Sequence[str] = (), breaks_at: str = "", name: str = "m") -> None:
        self.asked: list[str] = []
        self.now = self.most = 0
        self._fails = set(fails)
        self._breaks_at = breaks_at
        self._name = name

    async def judge(self, judged: Any) -> list[Verdict]:
        return [await self._one(judged.key, measure) for measure in self.measures]

    async def compare(self, first: Judged, second: Judged) -> Verdict:
        return await self._one(first.key, self.measure)

    async def _one(self, key: str, measure: str) -> Verdict:
        if key == self._breaks_at:
            raise RuntimeError("a defect")
        self.asked.append(key)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.02 / (1 + int(key[1:])))
        self.now -= 1
        if key in self._fails:
            return verdict(key, None, measure, status="model_error", reason="Gone.", model=self._name)
        return verdict(key, float(key[1:]), measure, model=self._name)


async def test_the_graph_asks_every_judge_and_keeps_their_order() -> None:
    judges = [Counting(name="a"), Counting(name="b")]
    output = await judge_graph(judges).ainvoke({"judged": judged_to_json(reply(3))})
    assert [(one["model"], one["measure"], one["value"]) for one in output["verdicts"]] == [
        (model, measure, 3.0) for model in ("a", "b") for measure in ("voice", "length")
    ]
    assert [*output] == ["verdicts"]


@pytest.mark.parametrize("at_once", [1, 3, 50])
async def test_verdicts_come_in_the_order_of_the_items(at_once: int) -> None:
    judge, told = Counting(), []
    verdicts = await judge_replies(
        [judge],
        [reply(n) for n in range(12)],
        at_once=at_once,
        progress=lambda done, total: told.append((done, total)),
    )
    assert [(one.subject, one.measure) for one in verdicts] == [
        (f"k{n}", measure) for n in range(12) for measure in judge.measures
    ]
    assert told == [(done, 12) for done in range(13)]
    assert judge.most <= at_once


async def test_what_was_judged_is_found_again_and_what_changed_is_judged_anew(tmp_path: Path) -> None:
    first = Counting()
    before = await judge_replies([first], [reply(n) for n in range(3)], folder=tmp_path)
    assert (tmp_path / "manifest.json").exists()
    second = Counting()
    items = [reply(0), reply(1, "Another answer."), reply(2), reply(3)]
    after = await judge_replies([second], items, folder=tmp_path)
    assert sorted(second.asked) == ["k1", "k1", "k3", "k3"]
    assert [item.about["reply"] for item in read_verdicts(tmp_path).items] == [one.reply for one in items]
    assert after[:2] == before[:2]
    assert [one.subject for one in after[::2]] == ["k0", "k1", "k2", "k3"]


async def test_another_config_is_another_run(tmp_path: Path) -> None:
    await judge_replies([Counting()], [reply(0)], folder=tmp_path, config={"models": ["a"]})
    with pytest.raises(StorageError, match="started with another models"):
        await judge_replies([Counting()], [reply(0)], folder=tmp_path, config={"models": ["b"]})
    with pytest.raises(StorageError, match="started with another judging"):
        await compare_replies(Counting(), [(reply(0), reply(1))], folder=tmp_path, config={"models": ["a"]})


async def test_what_a_model_failed_at_is_told_and_asked_again(tmp_path: Path) -> None:
    items = [reply(n) for n in range(4)]
    verdicts = await judge_replies([Counting(fails=["k1"])], items, folder=tmp_path)
    assert [one.status for one in verdicts[2:4]] == ["model_error"] * 2
    assert not (tmp_path / "manifest.json").exists()
    again = Counting()
    verdicts = await judge_replies([again], items, folder=tmp_path)
    assert again.asked == ["k1", "k1"]
    assert all(one.status == "scored" for one in verdicts)
    assert (tmp_path / "manifest.json").exists()


async def test_a_panel_of_which_one_failed_is_asked_again(tmp_path: Path) -> None:
    (verdicts) = await judge_replies(
        [ReplyPanel([Counting(), Counting(fails=["k0"])])], [reply(0)], folder=tmp_path
    )
    assert [one.value for one in verdicts] == [0.0, 0.0]
    again = Counting()
    await judge_replies([ReplyPanel([again, Counting()])], [reply(0)], folder=tmp_path)
    assert again.asked == ["k0", "k0"]


async def test_a_model_that_always_fails_is_not_asked_for_ever(tmp_path: Path) -> None:
    items = [reply(n) for n in range(60)]
    judge = Counting(fails=[one.key for one in items])
    with pytest.raises(ModelError, match="failed 20 times in a row"):
        await judge_replies([judge], items, folder=tmp_path, at_once=2)
    assert len(set(judge.asked)) <= 22


async def test_a_run_that_broke_off_keeps_what_it_had_and_ends_like_one_that_did_not(
    tmp_path: Path,
) -> None:
    items = [reply(n) for n in range(6)]
    with pytest.raises(RuntimeError, match="a defect"):
        await judge_replies([Counting(breaks_at="k4")], items, folder=tmp_path / "one", at_once=1)
    assert len(read_verdicts(tmp_path / "one").items) == 4
    again = Counting()
    verdicts = await judge_replies([again], items, folder=tmp_path / "one")
    assert set(again.asked) == {"k4", "k5"}
    assert verdicts == await judge_replies([Counting()], items, folder=tmp_path / "other")


async def test_pairs_and_scenes_have_runs_that_can_be_read_back(tmp_path: Path) -> None:
    pairs = [(reply(n), reply(n, "Other.")) for n in range(2)]
    compared = await compare_replies(Counting(), pairs, folder=tmp_path / "pairs", config={"judge": "x"})
    scene = JudgedScene(
        key="k7", title="Tea", setting="", language="en", people={}, lines=(JudgedSceneLine("Ada", "Hm."),)
    )
    looked = await judge_scenes(Counting(), [scene], folder=tmp_path / "scenes")
    read = read_verdicts(tmp_path / "pairs")
    assert (read.judging, read.config["judge"], read.verdicts) == ("pairs", "x", compared)
    assert (read.items[0].about["first"], read.items[0].about["second"]) == ("Answer 0.", "Other.")
    read = read_verdicts(tmp_path / "scenes")
    assert (read.judging, read.verdicts) == ("scenes", looked)
    assert read.items[0].about["lines"] == [["Ada", "Hm."]]


async def test_a_folder_that_holds_no_verdicts_is_told(tmp_path: Path) -> None:
    with pytest.raises(JudgingError, match="holds no run"):
        read_verdicts(tmp_path)
    (tmp_path / "config.json").write_text('{"config": {"generator": "rolegpt"}}')
    with pytest.raises(JudgingError, match="is not a run of a judge"):
        read_verdicts(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(JudgingError, match="cannot be read"):
        read_verdicts(tmp_path)
    (tmp_path / "config.json").write_text('{"config": {"judging": "replies"}}')
    (tmp_path / "items.jsonl").write_text(
        '{"key": "k", "value": {"place": 0, "about": {}, "verdicts": [{}]}}\n'
    )
    with pytest.raises(StorageError, match="damaged at 'k'"):
        read_verdicts(tmp_path)


@given(
    subject=TEXT,
    reason=TEXT,
    value=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    details=st.dictionaries(TEXT, st.none() | st.booleans() | st.integers(-9, 9) | TEXT | st.lists(TEXT)),
)
def test_verdicts_come_back_from_json_as_they_were(
    subject: str, reason: str, value: float | None, details: dict[str, Any]
) -> None:
    one = verdict(subject, value, reason=reason, details=details)
    assert verdict_from_json(json.loads(json.dumps(verdict_to_json(one)))) == one


@pytest.mark.parametrize("change", [{"value": None}, {"status": "fine"}, {"subject": 3}, {"model": None}])
def test_what_is_no_verdict_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        verdict_from_json({**verdict_to_json(verdict("k")), **change})
    with pytest.raises(ValueError, match=r"."):
        verdict_from_json("k")


@given(words=TEXT, turns=st.lists(st.tuples(st.sampled_from(["user", "persona"]), TEXT), min_size=1))
def test_what_is_judged_comes_back_from_json_as_it_was(words: str, turns: list[tuple[Any, str]]) -> None:
    persona = Persona(id="ada", name="Ada", description="Ada.", extensions={"x": words})
    one = Judged(
        key="k", persona=persona, turns=tuple(ConversationTurn(*turn) for turn in turns), reply=words
    )
    assert judged_from_json(json.loads(json.dumps(judged_to_json(one)))) == one


def test_a_summary_counts_what_has_no_value_apart_and_clusters_by_persona() -> None:
    verdicts = [verdict(f"k{n}", float(n % 2)) for n in range(8)] + [verdict("k8", None)]
    alone = {f"k{n}": "ada" for n in range(9)}
    (one,) = summarize(verdicts, alone)
    assert (one.n, one.mean, one.clustered_by, one.unscored) == (8, 0.5, "reply", {"unparsed": 1})
    assert one.ci95 is not None
    two = {key: "ada" if int(key[1:]) < 4 else "ben" for key in alone}
    assert summarize(verdicts, two)[0].clustered_by == "persona"
    (nothing,) = summarize([verdict("k", None)], {})
    assert (nothing.n, nothing.mean, nothing.ci95) == (0, None, None)
