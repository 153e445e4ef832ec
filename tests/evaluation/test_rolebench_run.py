"""A benchmark from its data to its results, with scripted models and judges."""

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from helpers.failing import failing_after
from helpers.samples import sample
from helpers.shared_data import shared_data
from helpers.small_rolebench import (
    ADA,
    BEN,
    GENERAL,
    SPECIFIC,
    right_answer,
    samples_of,
    write_cast,
    write_data,
    write_small_data,
)
from helpers.user_files import write_persona
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError, PersonaError, RoleLLMError, SettingsError, StorageError
from rolellm_agents.evaluation import BASELINE, Result
from rolellm_agents.judging import Judged, Verdict
from rolellm_agents.judging.recorded import read_verdicts
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import RecalledItem, RecallOptions
from rolellm_graphs.evaluate.rolebench import (
    NamedJudge,
    RoleBenchRequest,
    SystemUnderTest,
    run_name,
    run_rolebench,
)
from rolellm_graphs.runs.items import RunCallbacks, RunLimits

BOTH = ("system", "retrieval")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_cast(ADA, BEN)
    return write_small_data(tmp_path / "RoleBench")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def knowing() -> FunctionModel:
    return FunctionModel(function=right_answer)


async def run(
    request: RoleBenchRequest,
    folder: Path,
    *models: FunctionModel,
    judges: Sequence[NamedJudge] = (),
    at_once: int = 3,
    callbacks: RunCallbacks | None = None,
) -> Result:
    systems = [
        SystemUnderTest(f"model-{number}", model) for number, model in enumerate(models or (knowing(),), 1)
    ]
    return await run_rolebench(
        request,
        systems,
        folder=folder,
        judges=judges,
        limits=RunLimits(at_once=at_once),
        callbacks=callbacks,
    )


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def made(folder: Path) -> bool:
    return folder.exists()


def items_of(folder: Path) -> list[dict[str, Any]]:
    return [line["value"] for line in lines_of(folder / "items.jsonl")]


def without_times(result: Result) -> list[dict[str, Any]]:
    return [{**row.to_json(), "seconds": None} for row in result.rows]


# What is measured


async def test_every_model_answers_the_same_questions_under_every_strategy(
    data: Path, folder: Path
) -> None:
    confused = FunctionModel(function=lambda _: "Fog.")
    told: list[tuple[int, int]] = []
    callbacks = RunCallbacks(progress=lambda done, total: told.append((done, total)))
    result = await run(
        RoleBenchRequest(data=data, strategies=BOTH), folder, knowing(), confused, callbacks=callbacks
    )

    figures = [(row.system.model, row.system.strategy, row.kind, row.n) for row in result.rows]
    assert figures == [
        ("model-1", "system", "role_specific", 4),
        ("model-1", "retrieval", "role_specific", 4),
        ("model-2", "system", "role_specific", 4),
        ("model-2", "retrieval", "role_specific", 4),
        (*BASELINE, "role_specific", 2),
        ("model-1", "system", "general", 2),
        ("model-1", "retrieval", "general", 2),
        ("model-2", "system", "general", 2),
        ("model-2", "retrieval", "general", 2),
    ]
    assert [row.scores["rouge_l_f1"].mean for row in result.rows[:5]] == [1, 1, 0, 0, 1]
    assert result.rows[2].less_first["rouge_l_f1"].interval.mean == -1
    assert (result.complete, result.failed) == (True, 0)
    assert told[-1] == (24, 24)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def shouting(
    persona: Persona, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], user: str
) -> list[BaseMessage]:
    """A strategy of a user's."""
    return [SystemMessage(f"{persona.name.upper()}!"), *history, HumanMessage(user)]


async def test_a_strategy_of_a_users_is_an_object_and_recorded_by_where_it_is(
    data: Path, folder: Path
) -> None:
    model = knowing()
    request = RoleBenchRequest(data=data, strategies=("system", shouting), kinds=("role_specific",))
    result = await run(request, folder, model)
    name = f"{__name__}.shouting"
    assert {row.system.strategy for row in result.rows} >= {"system", name}
    assert {one["strategy"] for one in items_of(folder)} == {"system", name}
    assert result.config["strategies"] == ["system", name]
    assert sum(prompt[0].text in ("ADA!", "BEN!") for prompt in model.calls) == 4
    asked = len(model.calls)
    assert without_times(await run(request, folder, model)) == without_times(result)
    assert len(model.calls) == asked


async def test_two_strategies_of_one_name_are_refused(data: Path, folder: Path) -> None:
    def named_alike(by: str) -> Strategy:
        def strategy(*_: Any) -> list[BaseMessage]:
            return [HumanMessage(by)]

        return strategy

    request = RoleBenchRequest(data=data, strategies=(named_alike("a"), named_alike("b")))
    with pytest.raises(SettingsError, match=r"Two strategies have the name .*named_alike"):
        await run(request, folder)
    assert not made(folder)


async def test_it_goes_model_by_model_persona_by_persona_and_strategy_by_strategy(
    data: Path, folder: Path
) -> None:
    await run(RoleBenchRequest(data=data, strategies=BOTH), folder, knowing(), knowing(), at_once=1)
    order = [(item["model"], item["role"], item["strategy"]) for item in items_of(folder)]
    assert list(dict.fromkeys(order)) == [
        (model, role, strategy)
        for model in ("model-1", "model-2")
        for role in (ADA, BEN)
        for strategy in BOTH
    ]
    assert order == sorted(order, key=list(dict.fromkeys(order)).index)


async def test_only_one_model_is_in_memory(data: Path, folder: Path) -> None:
    opened: list[weakref.ref[FunctionModel]] = []
    others: list[int] = []

    class Local(FunctionModel):
        def load(self) -> None:
            gc.collect()
            others.append(sum(ref() is not None for ref in opened))
            opened.append(weakref.ref(self))

        def prefetch(self, messages: Sequence[BaseMessage]) -> Any:
            raise NotImplementedError

    await run(
        RoleBenchRequest(data=data), folder, Local(function=right_answer), Local(function=right_answer)
    )
    assert others == [0, 0]


async def test_the_folder_holds_the_results_and_every_reply_with_its_scores(
    data: Path, folder: Path
) -> None:
    result = await run(RoleBenchRequest(data=data), folder)
    assert (folder / "manifest.json").is_file()
    written = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert written["rows"] == json.loads(json.dumps([row.to_json() for row in result.rows]))
    assert (written["benchmark"], written["format"], written["complete"]) == ("rolebench", 1, True)
    assert written["files"] == {"replies": "items.jsonl", "scored": "scored.jsonl", "judges": {}}
    assert {(role["role"], role["kind"]) for role in written["roles"]} == {
        (role, kind) for role in (ADA, BEN) for kind in ("role_specific", "general")
    }
    scored = lines_of(folder / "scored.jsonl")
    assert len(scored) == 6 + 2
    assert {line["rouge_l_f1"] for line in scored} == {1.0}
    assert {line["key"] for line in scored if line["model"] == "model-1"} == {
        line["key"] for line in lines_of(folder / "items.jsonl")
    }


async def test_what_training_knows_is_named_and_scored_apart(data: Path, folder: Path) -> None:
    heard: list[str] = []
    forgetful = FunctionModel(
        function=lambda messages: "Fog." if "hives" in messages[-1].text else right_answer(messages)
    )
    result = await run(
        RoleBenchRequest(data=data), folder, forgetful, callbacks=RunCallbacks(notice=heard.append)
    )
    (known,) = (one.to_json() for one in result.overlap)
    assert known == {
        "kind": "role_specific",
        "role": ADA,
        "question": "How many hives have you?",
        "why": "asked of the same role in training",
    }
    row = result.rows[0]
    assert (row.n, row.n_clean) == (4, 3)
    assert (row.scores["rouge_l_f1"].mean, row.clean["rouge_l_f1"].mean) == (0.75, 1)
    assert heard == [
        "1 of 6 questions are known from training; scores of new questions are reported separately."
    ]


async def test_without_training_rows_nobody_knows_what_is_new(folder: Path, tmp_path: Path) -> None:
    write_cast(ADA)
    data = write_data(tmp_path / "data", samples_of({ADA: SPECIFIC[ADA]}, types=("x",)))
    result = await run(RoleBenchRequest(data=data, kinds=("role_specific",)), folder)
    assert result.rows[0].to_json()["n_clean"] is None
    assert result.notes == [
        "There are no training rows next to the test, so it is unknown which questions are new."
    ]


async def test_costs_and_throughput_are_told(data: Path, folder: Path) -> None:
    result = await run(RoleBenchRequest(data=data), folder, at_once=2)
    row = result.rows[0].to_json()
    assert row["prompt_tokens"] == row["new_tokens"] > 10
    assert row["reply_tokens"] == row["words"]
    assert (row["cut"], row["empty"]) == (0.0, 0.0)
    (throughput,) = result.throughput
    assert (throughput.answers, throughput.at_once) == (6, 2)
    assert throughput.tokens == sum(item["tokens"]["written"] for item in items_of(folder))
    assert throughput.seconds > 0


async def test_many_questions_are_asked_at_once_and_no_more_than_allowed(data: Path, folder: Path) -> None:
    now = most = 0
    counting = threading.Lock()

    def slowly(messages: Sequence[BaseMessage]) -> str:
        nonlocal now, most
        with counting:
            now += 1
            most = max(most, now)
        time.sleep(0.05)
        with counting:
            now -= 1
        return right_answer(messages)

    await run(RoleBenchRequest(data=data), folder, FunctionModel(function=slowly), at_once=3)
    assert 1 < most <= 3


async def test_a_question_that_stands_twice_counts_twice_and_is_asked_once(
    folder: Path, tmp_path: Path
) -> None:
    write_cast(ADA)
    asked = samples_of({ADA: SPECIFIC[ADA]}, types=("x",))
    data = write_data(tmp_path / "data", [*asked, asked[0]], baseline=[asked[0], asked[0]])
    model = knowing()
    result = await run(RoleBenchRequest(data=data, kinds=("role_specific",)), folder, model)
    assert [row.n for row in result.rows] == [3, 2]
    assert len(model.calls) == 2


async def test_an_empty_reply_is_counted_and_scores_nothing(data: Path, folder: Path) -> None:
    silent = FunctionModel(
        function=lambda messages: "  " if "mill" in messages[-1].text else right_answer(messages)
    )
    result = await run(RoleBenchRequest(data=data, kinds=("role_specific",)), folder, silent)
    row = result.rows[0].to_json()
    assert (row["n"], row["empty"], row["rouge_l_f1"]) == (4, 0.5, 0.5)


async def test_a_limit_is_of_each_kind_and_spread_over_the_roles(data: Path, folder: Path) -> None:
    result = await run(RoleBenchRequest(data=data, limit=2), folder)
    assert [(row.kind, row.n, row.roles) for row in result.rows if row.system != BASELINE] == [
        ("role_specific", 2, 2),
        ("general", 2, 2),
    ]


async def test_chinese_is_asked_and_scored_in_chinese(folder: Path, tmp_path: Path) -> None:
    write_persona("id: wu\nname: 悟空\nlanguage: zh\ndescription: 悟空是石猴。\n", "wu.yaml")
    data = write_data(tmp_path, [sample("悟空", "你师父是谁？", "唐僧。", types=("x",), language="zh")])
    model = FunctionModel(function=lambda _: "是唐僧。")
    result = await run(RoleBenchRequest(data=data, language="zh"), folder, model)
    assert result.rows[0].to_json()["rouge_l_f1"] == 0.8
    assert "悟空" in model.calls[0][0].text


# Roles


async def test_a_role_without_persona_is_played_by_the_datas_own_profile_or_left_out(
    data: Path, folder: Path
) -> None:
    write_data(
        data,
        [*samples_of(SPECIFIC), sample("Cat", "Who naps?", "Me."), sample("Dog", "Who barks?", "Me.")],
    )
    profiles = data / "profiles-eng" / "desc.json"
    profiles.parent.mkdir()
    profiles.write_text(json.dumps({"Cat": "Cat naps on the stove."}), encoding="utf-8")
    heard: list[str] = []
    model = FunctionModel(function=lambda _: "Me.")
    request = RoleBenchRequest(data=data, strategies=BOTH)
    result = await run(request, folder, model, callbacks=RunCallbacks(notice=heard.append))
    assert {line["role"] for line in lines_of(folder / "scored.jsonl")} == {ADA, BEN, "Cat"}
    assert any("Cat naps on the stove." in call[0].text for call in model.calls)
    told = result.to_json()
    assert (told["without_profile"], told["from_profiles"]) == (["Dog"], ["Cat"])
    assert "1 role without profile is left out: Dog." in heard


async def test_only_the_roles_that_are_named_are_asked(data: Path, folder: Path) -> None:
    await run(RoleBenchRequest(data=data, roles=("ben",)), folder)
    assert {item["role"] for item in items_of(folder)} == {BEN}


async def test_what_gives_an_answer_away_is_never_recalled(data: Path, folder: Path) -> None:
    write_persona(
        "id: ada\nname: Ada\ndescription: Ada keeps bees.\ndemonstrations:\n"
        '  - {user: "Who keeps the bees?", reply: "It is a secret."}\n'
        '  - {user: "What do you do?", reply: "I keep the bees."}\n'
        '  - {user: "Who keeps bees on the rock?", reply: "The lighthouse woman has done it for years."}\n'
    )
    model = knowing()
    strategies = ("retrieval", "few-shot-dialogue")
    recall = RecallOptions(floor=0.0)
    result = await run(
        RoleBenchRequest(data=data, strategies=strategies, roles=(ADA,), recall=recall), folder, model
    )
    sent = "\n".join(message.text for call in model.calls for message in call)
    assert "It is a secret." not in sent
    assert "I keep the bees." not in sent
    assert "The lighthouse woman" in sent
    assert result.to_json()["withheld"] == {"Ada": 2}
    # What is left of her must not get into the store that chats use.
    assert (folder / "chroma").is_dir()
    assert not (user_paths().cache / "chroma").exists()


# Stopped and started again


@pytest.mark.parametrize("patience", [0, 5, 11])
async def test_what_failed_is_told_and_tried_again_and_nothing_is_asked_twice(
    data: Path, folder: Path, patience: int
) -> None:
    request = RoleBenchRequest(data=data, strategies=BOTH)
    first = await run(request, folder, FunctionModel(function=failing_after(patience, right_answer)))
    assert (first.complete, first.failed) == (False, 12 - patience)
    assert "asleep" in first.first_failure
    assert sum(row.n for row in first.rows if row.system != BASELINE) == patience
    assert not (folder / "manifest.json").exists()
    assert json.loads((folder / "results.json").read_text(encoding="utf-8"))["complete"] is False

    model = knowing()
    second = await run(request, folder, model)
    assert len(model.calls) == 12 - patience
    whole = await run(request, folder.parent / "whole")
    assert without_times(second) == without_times(whole)

    third = knowing()
    again = await run(request, folder, third)
    assert (third.calls, without_times(again), again.complete) == ([], without_times(second), True)


KILLED = """
import asyncio, os, random, signal, sys, time
from pathlib import Path
from rolellm_agents.models.testing import FunctionModel
from helpers.small_rolebench import right_answer
from rolellm_graphs.evaluate.rolebench import SystemUnderTest, RoleBenchRequest, run_rolebench
from rolellm_graphs.runs.items import RunLimits

data, folder = Path(sys.argv[1]), Path(sys.argv[2])
model = FunctionModel(function=right_answer, seconds_per_word=0.02)


def bench(place):
    request = RoleBenchRequest(data=data, strategies=("system", "zero-shot"))
    limits = RunLimits(at_once=2)
    systems = [SystemUnderTest("m", model)]
    asyncio.run(run_rolebench(request, systems, folder=place, limits=limits))


bench(folder / "whole")
chance, kills = random.Random(1), 0
while kills < 6:
    child = os.fork()
    if child == 0:
        bench(folder / "killed")
        os._exit(0)
    time.sleep(chance.uniform(0.1, 0.35))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    kills += 1
    print("killed" if os.WIFSIGNALED(status) else "ended", flush=True)
bench(folder / "killed")
"""


@pytest.mark.core
def test_killed_again_and_again_it_ends_with_the_same_set_of_items(data: Path, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(data), str(folder)],
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.stdout.count("killed") >= 2, "it must have been in the middle of it"
    killed, whole = (
        {line["key"]: line["value"]["reply"] for line in lines_of(folder / name / "items.jsonl")}
        for name in ("killed", "whole")
    )
    assert killed == whole
    assert len(lines_of(folder / "killed" / "items.jsonl")) == len(whole), "each item once"
    rows = [
        [
            {**row, "seconds": None}
            for row in json.loads((folder / name / "results.json").read_text(encoding="utf-8"))["rows"]
        ]
        for name in ("killed", "whole")
    ]
    assert rows[0] == rows[1]


CHANGES: dict[str, dict[str, Any]] = {
    "split": {"split": "role-generalization"},
    "kinds": {"kinds": ("general",)},
    "limit": {"limit": 1},
    "roles": {"roles": ("Ada",)},
    "strategies": {"strategies": ("zero-shot",)},
    "seed": {"seed": 1},
    "recall": {"recall": RecallOptions(k=1)},
}


@pytest.mark.parametrize("changed", CHANGES)
async def test_a_run_with_other_settings_is_refused_and_told_what_differs(
    data: Path, folder: Path, changed: str
) -> None:
    # A role of the bundled cast that is held out, so that the other split can be made.
    sparrow = sample("Jack Sparrow", "Who keeps the mill, Jack?", "Not me.", types=("x",))
    write_data(data, [*samples_of(SPECIFIC, types=("x",)), *samples_of(GENERAL, "general"), sparrow])
    request = RoleBenchRequest(data=data)
    await run(request, folder, FunctionModel(function=lambda _: "Fog."))
    before = (folder / "items.jsonl").read_bytes()
    model, other = knowing(), replace(request, **CHANGES[changed])
    with pytest.raises(StorageError, match=f"started with another {changed}"):
        await run(other, folder, model)
    assert model.calls == []
    assert (folder / "items.jsonl").read_bytes() == before
    assert run_name(other, ["m"], 8) != run_name(request, ["m"], 8)


async def test_other_models_another_batch_and_other_questions_are_other_runs(
    data: Path, folder: Path
) -> None:
    request = RoleBenchRequest(data=data)
    await run(request, folder)
    with pytest.raises(StorageError, match="started with another models"):
        await run(request, folder, knowing(), knowing())
    with pytest.raises(StorageError, match="started with another at_once"):
        await run(request, folder, at_once=1)
    write_data(data, samples_of(SPECIFIC, types=("x",)))
    with pytest.raises(StorageError, match="started with another questions"):
        await run(request, folder)
    assert len({run_name(request, ["m"], 8), run_name(request, ["m"], 1), run_name(request, ["n"], 8)}) == 3


# Judges


@dataclass
class LengthJudge:
    """Finds long replies good; has no opinion of those that name a mill."""

    measures: Sequence[str] = ("length", "mill")
    asked: list[str] = field(default_factory=list)
    patience: int = 1_000

    async def judge(self, judged: Judged) -> list[Verdict]:
        if len(self.asked) >= self.patience:
            raise ModelError("The judge's model is gone; bring it back.")
        self.asked.append(judged.key)
        await asyncio.sleep(0)
        return [
            self._verdict(judged, "length", float(len(judged.reply))),
            self._verdict(judged, "mill", None if "mill" in judged.reply else 1.0),
        ]

    @staticmethod
    def _verdict(judged: Judged, measure: str, value: float | None) -> Verdict:
        return Verdict(
            subject=judged.key,
            measure=measure,
            value=value,
            status="unparsed" if value is None else "scored",
            reason=f"of {judged.question}",
            model="rule",
        )


@dataclass
class LongerJudge:
    """Prefers the longer one."""

    measure: str = "preference"
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def compare(self, first: Judged, second: Judged) -> Verdict:
        self.asked.append((first.key, second.key))
        value = 0.5 + 0.5 * (
            (len(first.reply) > len(second.reply)) - (len(first.reply) < len(second.reply))
        )
        return Verdict(
            subject=first.key,
            measure=self.measure,
            value=value,
            status="scored",
            model="rule",
            details={"orders": [value, value], "consistent": True},
        )


async def test_a_judge_judges_every_reply_and_what_it_cannot_judge_is_no_zero(
    data: Path, folder: Path
) -> None:
    judge = LengthJudge()
    named = NamedJudge("length", judge, {"judge": "length"})
    result = await run(RoleBenchRequest(data=data), folder, judges=[named])
    assert result.complete
    assert len(judge.asked) == 6 + 2  # RoleGPT's, too
    by_measure = {one.measure: one for one in result.rows[0].judged}
    # "I keep the bees.", "Three hives.", "I keep the mill.", "It turns in the wind."
    lengths = by_measure["length"].interval
    assert lengths is not None
    assert (lengths.mean, lengths.n) == ((16 + 12 + 16 + 21) / 4, 4)
    mill = by_measure["mill"].to_json()
    assert (mill["mean"], mill["n"], mill["unscored"]) == (1.0, 3, {"unparsed": 1})

    recorded = read_verdicts(folder / "judges" / "length")
    assert len(recorded.items) == 8
    assert {item.about["question"] for item in recorded.items} >= {"Name a colour."}
    verdicts = [line["verdicts"]["length"][0] for line in lines_of(folder / "scored.jsonl")]
    assert {one["status"] for one in verdicts} == {"scored"}
    written = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert written["files"]["judges"] == {"length": "judges/length"}


async def test_a_judge_of_pairs_lays_each_system_beside_the_first(data: Path, folder: Path) -> None:
    longer, shorter = FunctionModel(function=lambda _: "A long reply, it is."), knowing()
    judge = LongerJudge()
    named = NamedJudge("ranking", judge, {"judge": "ranking"})
    request = RoleBenchRequest(data=data, kinds=("role_specific",))
    result = await run(request, folder, shorter, longer, judges=[named])
    assert len(judge.asked) == 4 + 2
    assert all(second.startswith("model-1/system/") for _, second in judge.asked)
    of_models = [pair for pair in judge.asked if pair[0].startswith("model-2/")]
    assert {first.replace("model-2", "model-1") for first, _ in of_models} == {two for _, two in of_models}
    assert all(first.replace("model-2", "model-1") == second for first, second in of_models)
    first, second, published = result.rows
    assert first.judged == []
    # Twenty characters are more than 16 and 12, and less than 21.
    assert [one.to_json()["mean"] for one in second.judged] == [0.75]
    assert [one.to_json()["mean"] for one in published.judged] == [0.5]


async def test_systems_are_compared_with_rolegpt_as_in_the_paper(data: Path, folder: Path) -> None:
    judge = LongerJudge()
    named = NamedJudge("ranking", judge, {"judge": "ranking"})
    request = RoleBenchRequest(data=data, kinds=("role_specific",), against="rolegpt")
    longer, shorter = FunctionModel(function=lambda _: "A long reply, it is."), knowing()
    result = await run(request, folder, shorter, longer, judges=[named])
    # RoleGPT's replies are there for Ada's two questions, and they are the right ones.
    assert len(judge.asked) == 2 * 2
    assert all(second.startswith("/".join(BASELINE)) for _, second in judge.asked)
    by_model = {row.system.model: row.win for row in result.paper if not row.is_printed}
    assert by_model == {"model-1": 0.5, "model-2": 1.0, BASELINE.model: None}


async def test_judges_are_added_to_a_run_that_is_complete_and_asked_nothing_twice(
    data: Path, folder: Path
) -> None:
    request = RoleBenchRequest(data=data)
    await run(request, folder)
    model, judge = knowing(), LengthJudge()
    named = NamedJudge("length", judge, {"judge": "length"})
    judged = await run(request, folder, model, judges=[named])
    assert (model.calls, len(judge.asked)) == ([], 8)
    again = await run(request, folder, model, judges=[named])
    assert len(judge.asked) == 8
    assert without_times(again) == without_times(judged)
    with pytest.raises(StorageError, match="started with another judge"):
        await run(request, folder, judges=[NamedJudge("length", judge, {"judge": "other"})])


async def test_a_judge_that_gives_up_leaves_the_table_and_goes_on_later(data: Path, folder: Path) -> None:
    request = RoleBenchRequest(data=data)
    tired = NamedJudge("length", LengthJudge(patience=3), {"judge": "length"})
    broken = await run(request, folder, judges=[tired], at_once=1)
    assert not broken.complete
    assert broken.notes[-1] == ("The judge length stopped: The judge's model is gone; bring it back.")
    assert broken.rows[0].scores["rouge_l_f1"].mean == 1
    assert not (folder / "manifest.json").exists()
    fresh = LengthJudge()
    named = NamedJudge("length", fresh, {"judge": "length"})
    assert (await run(request, folder, judges=[named], at_once=1)).complete
    assert len(fresh.asked) == 8 - 3


# What cannot be compared


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"strategies": ("telepathy",)}, SettingsError, "There is no strategy 'telepathy'"),
        ({"strategies": ()}, SettingsError, "No strategy is named"),
        ({"kinds": ()}, SettingsError, "No kind is named"),
        ({"roles": ("nobody",)}, PersonaError, "There is no persona 'nobody'"),
        ({"roles": ("shrek",)}, PersonaError, "There are no questions to Shrek"),
        ({"split": "role-generalization"}, RoleLLMError, "none of its held-out roles"),
        ({"data": Path("nowhere")}, RoleLLMError, "nowhere holds no rolebench-eng"),
    ],
)
async def test_what_is_not_there_is_told_and_nobody_is_asked(
    data: Path, folder: Path, changes: dict[str, Any], error: type[RoleLLMError], told: str
) -> None:
    model = knowing()
    with pytest.raises(error, match=told):
        await run(replace(RoleBenchRequest(data=data), **changes), folder, model)
    assert model.calls == []
    assert not made(folder)


async def test_without_any_model_there_is_nothing_to_compare(data: Path, folder: Path) -> None:
    with pytest.raises(SettingsError, match="No model is named"):
        await run_rolebench(RoleBenchRequest(data=data), [], folder=folder)
    with pytest.raises(SettingsError, match="is the name of the published answers"):
        await run_rolebench(
            RoleBenchRequest(data=data), [SystemUnderTest(BASELINE.model, knowing())], folder=folder
        )


async def test_roles_that_nothing_describes_cannot_be_played(folder: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data", [sample("Nemo", "Who?", "I.")])
    with pytest.raises(PersonaError, match="Nothing describes any of the 1 roles"):
        await run(RoleBenchRequest(data=data), folder)


# The embedded model, and the published data


async def test_the_embedded_model_answers_and_reads_a_persona_once(
    data: Path, folder: Path, small_model: ChatLlamaCpp
) -> None:
    request = RoleBenchRequest(data=data, kinds=("role_specific",), roles=(BEN,))
    system = SystemUnderTest("llamacpp:smollm2", small_model.model_copy(update={"max_tokens": 12}))
    result = await run_rolebench(request, [system], folder=folder, limits=RunLimits(at_once=1))
    first, second = items_of(folder)
    assert first["reply"]
    assert second["reply"]
    assert second["reused"] > 0.5 * second["tokens"]["read"], "the persona is not read again"
    row = result.rows[0].to_json()
    assert row["new_tokens"] < row["prompt_tokens"]
    assert 0 <= row["rouge_l_f1"] <= 1
    assert result.throughput[0].seconds > 0


@pytest.mark.parametrize(
    ("language", "kind", "n", "f1", "paper"),
    [
        # By rouge_score 0.1.2 (rougeL, no stemmer) and rouge 1.0.1 (recall), the best reference of each.
        ("en", "role_specific", 445, 0.234588, 0.326179),
        ("zh", "role_specific", 239, None, 0.247786),
        ("zh", "general", 1451, None, 0.570720),
    ],
)
async def test_the_published_baseline_scores_what_independent_libraries_give(
    folder: Path, language: Any, kind: Any, n: int, f1: float | None, paper: float
) -> None:
    request = RoleBenchRequest(data=shared_data("rolebench"), language=language, kinds=(kind,))
    silent = FunctionModel(function=lambda _: "")
    result = await run(request, folder, silent, at_once=32)
    row = next(row for row in result.rows if row.system == BASELINE)
    assert row.n == n
    assert row.scores["paper"].mean == pytest.approx(paper, abs=1e-6)
    if f1 is not None:
        assert row.scores["rouge_l_f1"].mean == pytest.approx(f1, abs=1e-6)
