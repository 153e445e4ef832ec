"""Context-Instruct: questions out of a profile, each answered in the character's voice, each item once."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.oracle import Oracle

from rolellm_agents.datasets import read_samples
from rolellm_agents.errors import ModelError
from rolellm_agents.generation.attributes import Attributes
from rolellm_agents.generation.characters import read_character
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_graphs.generate.context_instruct import (
    ContextRequest,
    PassState,
    context_graph,
    context_guess,
    context_instruct,
)
from rolellm_graphs.generate.run import GenerationOutcome
from rolellm_graphs.runs.items import PlannedItem, RunCallbacks, RunLimits


def persona(name: str) -> Persona:
    return Persona(
        id=name.lower(),
        name=name,
        description=f"{name} keeps the lighthouse on Gull Rock, with a lamp, a bell, a boat and a knife.",
        demonstrations=(
            Demonstration(
                user="Is it cold?", reply="Only for those who sit still by the winter tide, stranger."
            ),
        ),
        knowledge=(
            Knowledge(
                title="The storm", text="The storm took my father, the herring boat, the bell and the rope."
            ),
            Knowledge(
                title="The lamp", text="I light the lamp with oil and bread, by the song of a gull in fog."
            ),
        ),
    )


ADA, BEN = (read_character(persona(name), script=None, most=300) for name in ("Ada", "Ben"))


async def run(folder: Path, model: Oracle | None = None, **changes: Any) -> GenerationOutcome:
    limits = changes.pop("limits", RunLimits(at_once=4))
    callbacks = changes.pop("callbacks", RunCallbacks())
    request = ContextRequest(**{"characters": (ADA,), "limit": 12, **changes})
    return await context_instruct(
        request, model or Oracle(), model_name="oracle", folder=folder, limits=limits, callbacks=callbacks
    )


def rows(folder: Path, name: str = "samples") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def items(folder: Path) -> dict[str, Any]:
    lines = (json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines())
    return {line["key"]: line["value"] for line in lines}


async def test_each_request_gives_questions_and_each_question_an_answer(tmp_path: Path) -> None:
    outcome = await run(tmp_path)
    assert outcome.complete
    assert outcome.done == 16, "four requests of three questions"
    kept = items(tmp_path)
    asked = kept["ada/script_based/knowledge 0/questions"]
    assert [one["text"] for one in asked["questions"]] == [
        kept[f"ada/script_based/knowledge 0/{place}"]["question"] for place in range(3)
    ]
    answer = kept["ada/script_based/knowledge 0/0"]
    assert answer["evidence"] == {
        "quote": "The storm took my father, the herring boat, the bell and the rope.",
        "place": "The storm",
    }
    assert (answer["confidence"], answer["model"]) == ("high", "oracle")
    assert answer["reason"].startswith("It names")
    assert asked["prompts"] == [
        "questions-script/en@1",
        "questions-example-script/en@1",
        "questions-task/en@1",
    ]
    assert answer["prompts"] == ["custom-instruction/en@1", "catchphrases/en@1", "recalled/en@1"]
    every = rows(tmp_path) + rows(tmp_path, "left_out")
    assert len(every) == 12
    assert {row["persona"] for row in every} == {"ada"}
    assert {tuple(row["type"]) for row in every} == {("script_based",), ("script_agnostic",)}
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["filters"] == dict(sorted(outcome.written.labels.items()))
    assert sum(manifest["rows"].values()) == 12


async def test_each_request_has_a_visitor_of_its_own_and_rows_say_which(tmp_path: Path) -> None:
    attributes = Attributes.model_validate({"en": {"visitor": [f"visitor {n}" for n in range(40)]}})
    model = Oracle()
    await run(tmp_path, model, attributes=attributes)
    kept = items(tmp_path)
    asked = [item for key, item in kept.items() if key.endswith("/questions")]
    visitors = {item["attributes"]["visitor"] for item in asked}
    assert len(visitors) >= 3
    assert all(item["prompts"][-1] == "visitor-attributes/en@1" for item in asked)
    told = [
        message.text for call in model.calls for message in call if "The visitor this time" in message.text
    ]
    assert {
        visitor for visitor in visitors if any(f"– visitor: {visitor}." in one for one in told)
    } == visitors
    every = rows(tmp_path) + rows(tmp_path, "left_out")
    assert {row["attributes"]["visitor"] for row in every} <= visitors
    config = json.loads((tmp_path / "config.json").read_text())["config"]
    assert "visitor-attributes/en@1" in config["prompts"]


async def test_a_run_without_attributes_is_that_of_an_earlier_version(tmp_path: Path) -> None:
    await run(tmp_path)
    assert "attributes" not in json.loads((tmp_path / "config.json").read_text())["config"]
    assert not any("attributes" in row for row in rows(tmp_path))


async def test_samples_are_rolebenchs_and_clean(tmp_path: Path) -> None:
    await run(tmp_path, limit=40, questions=1)
    samples = read_samples(tmp_path / "samples.jsonl")
    assert samples
    assert {sample.kind for sample in samples} == {"role_specific"}
    assert all(set(sample.extra["labels"]) <= {"boundary"} for sample in samples)
    assert any(sample.extra["labels"] == ["boundary"] for sample in samples)


async def test_a_model_that_writes_prose_is_counted_and_its_words_are_kept(tmp_path: Path) -> None:
    outcome = await run(tmp_path, Oracle(prose=True))
    assert outcome.complete
    assert (outcome.done, outcome.planned) == (4, 4)
    assert outcome.written.labels == {"unreadable": 4}
    assert rows(tmp_path) == []
    assert all(row["generated"][0].startswith("I remember") for row in rows(tmp_path, "left_out"))
    model = Oracle(prose=True)
    assert (await run(tmp_path, model)).complete
    assert model.calls == []


async def test_fewer_questions_than_hoped_for_are_no_gap(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    callbacks = RunCallbacks(progress=lambda done, total: told.append((done, total)))
    outcome = await run(tmp_path, questions=5, limit=15, callbacks=callbacks)
    assert outcome.complete
    assert (told[0], told[-1]) == ((0, 18), (12, 12))


@pytest.mark.parametrize("at_once", [1, 8])
async def test_the_same_bytes_come_out_in_whatever_order_answers_end(tmp_path: Path, at_once: int) -> None:
    await run(tmp_path / "one", limits=RunLimits(at_once=2), limit=None)
    model = Oracle(seconds=0.02)
    await run(tmp_path / "other", model, limits=RunLimits(at_once=at_once), limit=None)
    assert model.most_at_once[1] <= at_once
    for name in ("samples", "left_out"):
        one, other = (tmp_path / folder / f"{name}.jsonl" for folder in ("one", "other"))
        assert one.read_bytes() == other.read_bytes() != b""


async def test_nothing_is_paid_for_twice_and_a_greater_limit_goes_on(tmp_path: Path) -> None:
    await run(tmp_path, limit=4)
    assert len(items(tmp_path)) == 2 + 4
    model = Oracle()
    outcome = await run(tmp_path, model, limit=12)
    assert len(model.calls) == 16 - 6
    assert outcome.complete
    await run(tmp_path / "at once", limit=12)
    assert rows(tmp_path) == rows(tmp_path / "at once")


async def test_what_failed_is_made_by_the_next_start(tmp_path: Path) -> None:
    broken = Oracle(failures=[ModelError("The model has gone.")] * 2)
    outcome = await run(tmp_path, broken, limits=RunLimits(at_once=1))
    assert outcome.failures.count == 2
    assert not outcome.complete
    assert (await run(tmp_path)).complete
    await run(tmp_path / "whole")
    assert rows(tmp_path) == rows(tmp_path / "whole")


async def test_a_budget_stops_before_it_is_overdrawn(tmp_path: Path) -> None:
    outcome = await run(tmp_path, limit=None, limits=RunLimits(at_once=3, most_tokens=6_000))
    assert outcome.stopped == "budget"
    assert outcome.tokens.total <= 6_000
    assert 0 < outcome.done < outcome.planned


async def test_near_questions_are_sought_among_the_same_characters_alone(tmp_path: Path) -> None:
    model = Oracle(name_of="Friend")
    outcome = await run(tmp_path, model, characters=(ADA, BEN), limit=None)
    assert outcome.complete
    by_persona = {
        name: [row for row in rows(tmp_path) if row["persona"] == name] for name in ("ada", "ben")
    }
    assert all(by_persona.values())
    for held in by_persona.values():
        assert len({row["question"] for row in held}) == len(held)


async def test_a_led_model_gets_a_narrower_form(tmp_path: Path) -> None:
    forms: list[dict[str, Any]] = []

    class Formed(Oracle):
        def with_structured_output(self, schema: Any = None, **kwargs: Any) -> Any:
            forms.append(schema)
            return super().with_structured_output(schema, **kwargs)

    await run(tmp_path, Formed(), limit=3, guided=True, limits=RunLimits(at_once=1))
    assert "prefixItems" in forms[0]["properties"]["questions"]


async def test_the_graph_is_anybodys() -> None:
    async def ask(place: int, wanted: Any, most: int) -> list[dict[str, Any]]:
        return [{"text": f"Question {number} of {place}?"} for number in range(most)]

    async def answer(put: Any) -> dict[str, Any] | None:
        return None if put["wanted"]["number"] == 2 else {"answered": put["question"]["text"]}

    wanted = [PlannedItem(number=number, key=str(number)) for number in range(4)]
    state = PassState(place=7, wanted=wanted[0], wanted_answers=wanted[1:], answers=[])
    found = await context_graph(ask, answer).ainvoke(state)
    assert found["answers"] == [{"answered": "Question 0 of 7?"}, {"answered": "Question 2 of 7?"}]


def test_a_guess_knows_every_item_and_the_length_of_its_prompts() -> None:
    keys, tokens = context_guess(ContextRequest(characters=(ADA, BEN), limit=6))
    assert len(set(keys())) == 2 * (2 + 6)
    assert 100 < tokens.read < 900
