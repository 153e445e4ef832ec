"""RoleGPT: every persona answers every instruction as often as asked for, whatever comes between."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.oracle import Oracle

from rolellm_agents.errors import ModelError, SettingsError, StorageError
from rolellm_agents.generation.instructions import Instruction
from rolellm_agents.persona import Demonstration, Persona, load_persona
from rolellm_agents.prompting.strategies import get_strategy
from rolellm_agents.runs.budget import Prices
from rolellm_graphs.generate.rolegpt import RoleGPTRequest, RowState, rolegpt, rolegpt_graph, rolegpt_guess
from rolellm_graphs.generate.run import GenerationOutcome
from rolellm_graphs.runs.items import PlannedItem, RunCallbacks, RunLimits

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada keeps a lighthouse.",
    demonstrations=(Demonstration(user="Is it cold?", reply="Only for those who sit still."),),
)
BEN = Persona(id="ben", name="Ben", description="Ben catches herring.")
ASKED = tuple(Instruction(f"i{number}", f"Tell me thing {number}.", "en", "open") for number in range(5))


def request(**changes: Any) -> RoleGPTRequest:
    return RoleGPTRequest(**{"personas": (ADA, BEN), "instructions": ASKED, "samples": 3, **changes})


async def run(folder: Path, model: Oracle | None = None, **changes: Any) -> GenerationOutcome:
    limits = changes.pop("limits", RunLimits(at_once=4))
    callbacks = changes.pop("callbacks", RunCallbacks())
    return await rolegpt(
        request(**changes),
        model or Oracle(),
        model_name="oracle",
        folder=folder,
        limits=limits,
        callbacks=callbacks,
    )


def rows(folder: Path, name: str = "samples") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


async def test_every_persona_answers_every_instruction(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    outcome = await run(
        tmp_path, callbacks=RunCallbacks(progress=lambda done, total: told.append((done, total)))
    )
    assert outcome.complete
    assert (outcome.done, told[0], told[-1]) == (30, (0, 30), (30, 30))
    assert [(row["persona"], row["question"]) for row in rows(tmp_path)] == [
        (persona.id, one.text) for persona in (ADA, BEN) for one in ASKED
    ]
    assert all(len(row["generated"]) == 2 for row in rows(tmp_path))
    assert len(rows(tmp_path, "rolegpt_baseline")) == 10
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert (manifest["items"], manifest["rows"]["samples"], manifest["filters"]) == (30, 10, {})
    item = json.loads((tmp_path / "items.jsonl").read_text().splitlines()[0])
    assert item["value"]["prompts"] == ["custom-instruction/en@1", "catchphrases/en@1"]
    assert item["value"]["tokens"]["written"] > 5


async def test_each_strategy_sends_its_own_messages(tmp_path: Path) -> None:
    model = Oracle()
    names = ("zero-shot", "few-shot-prompt", "few-shot-dialogue")
    await run(
        tmp_path, model, personas=(ADA,), strategies=names, samples=1, limit=1, limits=RunLimits(at_once=1)
    )
    recalled: Any = {"kind": "demonstration", "index": 0, "score": 0, "why": ""}
    for name, sent in zip(names, model.calls, strict=True):
        expected = get_strategy(name)(ADA, [], [] if name == "zero-shot" else [recalled], ASKED[0].text)
        assert [message.text for message in sent] == [message.text for message in expected]
    assert [row["strategy"] for row in rows(tmp_path)] == list(names)


async def test_answers_with_faults_are_left_out_and_counted(tmp_path: Path) -> None:
    outcome = await run(tmp_path, Oracle(spoiled=2))
    faults = outcome.written.labels["ai-talk"]
    assert 3 < faults < 27
    assert len(rows(tmp_path, "left_out")) == outcome.written.rows["left_out"] >= faults
    kept = [text for row in rows(tmp_path) for text in row["generated"]]
    assert not any("AI" in text for text in kept)
    assert len(kept) + len(rows(tmp_path, "rolegpt_baseline")) + len(rows(tmp_path, "left_out")) == 30
    assert json.loads((tmp_path / "manifest.json").read_text())["filters"] == {"ai-talk": faults}


@pytest.mark.parametrize("at_once", [1, 3, 16])
async def test_the_same_bytes_come_out_in_whatever_order_answers_end(tmp_path: Path, at_once: int) -> None:
    await run(tmp_path / "one", Oracle(spoiled=5), limits=RunLimits(at_once=1))
    model = Oracle(spoiled=5, seconds=0.02)
    await run(tmp_path / "other", model, limits=RunLimits(at_once=at_once))
    assert model.most_at_once[1] <= at_once
    for name in ("samples", "left_out", "rolegpt_baseline"):
        one, other = (tmp_path / folder / f"{name}.jsonl" for folder in ("one", "other"))
        assert one.read_bytes() == other.read_bytes()


async def test_nothing_is_paid_for_twice_and_a_greater_limit_goes_on(tmp_path: Path) -> None:
    await run(tmp_path, limit=2)
    model = Oracle()
    assert (await run(tmp_path, model, limit=2)).complete
    assert model.calls == []
    manifest = (tmp_path / "manifest.json").read_bytes()
    outcome = await run(tmp_path, model, limit=4)
    assert len(model.calls) == 12
    assert outcome.done == 24
    assert (tmp_path / "manifest.json").read_bytes() != manifest
    await run(tmp_path / "at once", limit=4)
    assert rows(tmp_path) == rows(tmp_path / "at once")
    assert (await run(tmp_path, model, limit=1)).planned == 6, "a lower one shows less"


async def test_another_seed_is_another_run_with_other_answers(tmp_path: Path) -> None:
    await run(tmp_path / "one")
    await run(tmp_path / "two", seed=1)
    assert rows(tmp_path / "one") != rows(tmp_path / "two")
    with pytest.raises(StorageError, match="started with another seed"):
        await run(tmp_path / "one", seed=1)


async def test_what_failed_is_told_and_made_by_the_next_start(tmp_path: Path) -> None:
    outcome = await run(tmp_path, Oracle(failures=[ModelError("The model has gone.")] * 5))
    assert not outcome.complete
    assert (outcome.failures.count, outcome.failures.first) == (5, "The model has gone.")
    assert (outcome.done, outcome.stopped) == (25, "")
    assert not (tmp_path / "manifest.json").exists()
    model = Oracle()
    assert (await run(tmp_path, model)).complete
    assert len(model.calls) == 5
    await run(tmp_path / "whole")
    assert rows(tmp_path) == rows(tmp_path / "whole")


async def test_a_model_that_always_fails_is_not_asked_for_ever(tmp_path: Path) -> None:
    many = tuple(Instruction(f"i{number}", f"Tell me thing {number}.", "en", "") for number in range(60))
    model = Oracle(failures=[ModelError("The key is wrong.")] * 1_000)
    outcome = await run(tmp_path, model, instructions=many)
    assert outcome.stopped == "failures"
    # Twenty failures end it; of the others only those that had been sent by then.
    assert len(model.calls) < 30
    assert rows(tmp_path) == []


async def test_what_waits_when_a_run_gives_up_is_not_sent(tmp_path: Path) -> None:
    many = tuple(Instruction(f"i{number}", f"Tell me thing {number}.", "en", "") for number in range(60))
    model = Oracle(failures=[ModelError("The key is wrong.")] * 1_000)
    # One request at a time, six samples of an instruction at once: the twentieth is in mid-instruction.
    outcome = await run(tmp_path, model, instructions=many, limits=RunLimits(at_once=1))
    assert outcome.stopped == "failures"
    assert len(model.calls) == 20


async def test_a_defect_of_ours_is_an_error_and_what_is_finished_is_kept(tmp_path: Path) -> None:
    class Broken(Oracle):
        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            if len(self.calls) > 6:
                raise SettingsError("Mend this.")
            return await super()._agenerate(messages, *args, **kwargs)

    outcome = await run(tmp_path, Broken())
    assert outcome.done == 7
    assert outcome.failures.first == "Mend this."


async def test_a_budget_is_kept_and_a_greater_one_goes_on(tmp_path: Path) -> None:
    stopped = await run(tmp_path, limits=RunLimits(at_once=4, most_tokens=1_500))
    assert stopped.stopped == "budget"
    assert 3 <= stopped.done < 30
    assert stopped.tokens.total <= 1_500
    assert rows(tmp_path) != []
    again = await run(tmp_path, limits=RunLimits(at_once=4, most_tokens=1_500))
    assert again.tokens.total <= 1_500
    prices = Prices(1_000_000.0, 0.0)
    whole = await run(tmp_path, limits=RunLimits(at_once=4, most_cost=1e9, prices=prices))
    assert whole.complete
    assert whole.cost == whole.tokens.read


async def test_a_greatest_cost_without_prices_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="limit requires prices"):
        await run(tmp_path, limits=RunLimits(most_cost=1.0))


async def test_the_same_persona_twice_answers_once(tmp_path: Path) -> None:
    assert (await run(tmp_path, personas=(ADA, ADA))).done == 15


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategies": ("system",)}, "RoleGPT does not support the strategy 'system'; it knows zero-shot"),
        ({"personas": (ADA, load_persona("li-bai"))}, "There is no instruction in 'zh' for 李白"),
    ],
)
async def test_what_cannot_be_answered_is_told_before_anything_is_paid(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    model = Oracle()
    with pytest.raises(SettingsError, match=said):
        await run(tmp_path, model, **changes)
    assert model.calls == []


async def test_the_graph_is_anybodys() -> None:
    from rolellm_agents.prompting.composer import Prompting

    async def answer(asked: Any) -> dict[str, Any]:
        return {"text": asked["prompt"][-1]["data"]["content"], "number": asked["wanted"]["number"]}

    graph = rolegpt_graph(Prompting(ADA, "zero-shot", user="you"), answer)
    wanted = [PlannedItem(number=number, key=str(number)) for number in (4, 2)]
    found = await graph.ainvoke(RowState(instruction="Say it.", wanted=wanted, answers=[]))
    assert found["answers"] == [{"text": "Say it.", "number": 4}, {"text": "Say it.", "number": 2}]
    assert set(graph.get_graph().nodes) >= {"compose", "answer"}


def test_a_guess_knows_every_item_and_the_length_of_its_prompts() -> None:
    keys, tokens = rolegpt_guess(request())
    assert len(set(keys())) == 30
    assert 100 < tokens.read < 300
