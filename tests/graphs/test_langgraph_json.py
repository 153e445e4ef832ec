"""The graphs that `langgraph.json` names, called as a server calls them, within this process."""

import asyncio
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.scenes import line_by
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from rolellm_agents.errors import MessageError, ScriptError, SettingsError
from rolellm_agents.judging import JudgingError
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_graphs.profile import ProfileRequest, build_profile
from rolellm_graphs.studio.choosing import cached_model, cached_model_for_many
from rolellm_graphs.studio.role import RoleChoice

ROOT = Path(__file__).parents[2]
GRAPHS = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
THREAD: Any = {"configurable": {"thread_id": "studio"}}
QUESTION = json.dumps(
    {
        "questions": [
            {"question": "Shrek, why the swamp?", "line": 1, "reason": "It says so.", "confidence": "high"}
        ]
    }
)
CHAT = [HumanMessage("Who are you?"), AIMessage("Sherlock Holmes, at your service.")]
HEAVY = ("llama_cpp", "torch", "transformers", "chromadb", "textual", "openai", "numpy", "datasets")


@pytest.fixture(autouse=True)
def _no_model_of_another_test() -> None:
    cached_model.cache_clear()
    cached_model_for_many.cache_clear()


def served(name: str, **chosen: Any) -> Any:
    """The graph as a server makes it for a run."""
    module, _, function = GRAPHS[name]["path"].partition(":")
    make = getattr(importlib.import_module(module), function)
    return asyncio.run(make({"configurable": {"thread_id": "some", **chosen}}))


def run(name: str, told: Any, **chosen: Any) -> Any:
    """One run of it."""
    return asyncio.run(served(name, **chosen).ainvoke(told, context=chosen))


LAMP = """BEN. Who keeps the lamp in the tower?
ADA. I do, upon my oath, and I have kept it alone these eleven years.
BEN. Where is your father, if I may ask you that?
ADA. Where the herring are. He was a careful man, and once he was not careful.
BEN. Then let me in.
ADA. Wipe your feet, upon my oath, and sit by the stove.
"""
BAKERY = """BEN. What do you bake on such a morning?
ADA. Rye bread with caraway, and nothing that a fool would call a cake.
BEN. Will you sell me two loaves?
ADA. For a smile you get one, for money both of them.
"""


def written(tmp_path: Path, text: str = LAMP) -> Path:
    """A script with Ada in it."""
    script = tmp_path / f"{len(text)}.txt"
    script.write_text(f"A Play\n\nSCENE 1\n\n{text}", encoding="utf-8")
    return script


def prompts_to(spec: str, kept: Any = cached_model, temperature: float | None = None) -> Any:
    """All that the model of this spec was asked."""
    return kept(spec, temperature=temperature, max_tokens=None).calls


# All of them


def test_every_state_machine_of_the_package_is_listed() -> None:
    package = ROOT / "graphs" / "rolellm_graphs"
    named = {
        path.parent.name if path.stem == "graph" else path.stem
        for path in package.rglob("*.py")
        if "studio" not in path.parts and re.search(r"= StateGraph\(", path.read_text(encoding="utf-8"))
    }
    assert set(GRAPHS) == named


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_brings_no_checkpointer_and_tells_what_it_takes(name: str) -> None:
    graph = served(name)
    assert graph.checkpointer is None
    assert GRAPHS[name]["description"]
    assert graph.get_input_jsonschema()["properties"]
    assert graph.get_output_jsonschema()["properties"]
    choices = graph.get_context_jsonschema()["properties"]
    assert {"model", "temperature", "max_tokens"} <= set(choices)
    ours = {key: choice for key, choice in choices.items() if "description" in choice}
    assert all(choice["description"].endswith(".") for choice in ours.values())
    assert "model" in ours


@pytest.mark.parametrize("name", GRAPHS)
def test_what_a_form_leaves_empty_is_not_chosen(name: str) -> None:
    graph = served(name)
    empty = dict.fromkeys(graph.get_context_jsonschema()["properties"], "")
    assert served(name, **empty).name == graph.name


@pytest.mark.parametrize(
    ("name", "chosen", "complaint"),
    [
        ("role", {"persona": "nobody-at-all"}, "There is no persona 'nobody-at-all'"),
        ("role", {"model": "nothing"}, "There is no model 'nothing'"),
        ("role", {"strategy": "shouting"}, "There is no strategy 'shouting'"),
        ("role", {"temperature": "hot"}, "'temperature' cannot be 'hot'"),
        ("scene", {"scene": "nowhere-at-all"}, "There is no scene 'nowhere-at-all'"),
        ("rolegpt", {"samples": 0}, "'samples' cannot be 0"),
        ("context_instruct", {"persona": "nobody-at-all"}, "There is no persona"),
        ("judge", {"judge": "ranking"}, "'judge' cannot be 'ranking'"),
        ("judge", {"rubrics": ["beauty"]}, "There is no rubric 'beauty'"),
        ("judge", {"judge": "likelihood", "model": "scripted:x"}, "gives no probabilities"),
    ],
)
def test_a_choice_that_cannot_be_is_told_in_a_sentence(name: str, chosen: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as told:
        served(name, **chosen)
    assert str(told.value).endswith(".")


def test_the_strategies_are_all_told() -> None:
    description = served("role").get_context_jsonschema()["properties"]["strategy"]["description"]
    assert all(name in description for name in STRATEGIES)


def test_a_model_stays_for_the_next_run() -> None:
    texts = [
        run("role", {"messages": [("user", "Hello?")]}, persona="shrek", model="scripted:One.|Two.")[
            "messages"
        ][-1].text
        for _ in range(2)
    ]
    assert texts == ["One.", "Two."]


def test_loading_them_loads_no_model() -> None:
    modules = sorted({graph["path"].partition(":")[0] for graph in GRAPHS.values()})
    code = (
        f"import sys; import {', '.join(modules)}; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


# Each of them


def test_the_role_graph_answers() -> None:
    model = "scripted:Get out."
    output = run("role", {"messages": [("user", "Hello?")]}, persona="shrek", model=model, user="Fiona")
    answer = output["messages"][-1]
    assert (answer.text, answer.name) == ("Get out.", "shrek")
    (prompt,) = prompts_to(model)
    assert "Shrek" in prompt[0].text


def test_the_role_graph_takes_what_its_calls_may_be_told() -> None:
    model = "scripted:Get out. Now."
    chosen = {"persona": "shrek", "model": model, "scene": "It is dark.", "stop": [" Now"]}
    output = run("role", {"messages": [("user", "Hello?")]}, **chosen)
    assert output["messages"][-1].text == "Get out."
    (prompt,) = prompts_to(model)
    assert "It is dark." in prompt[0].text


def test_what_a_form_says_in_json_is_read_by_its_kinds() -> None:
    graph = served("role", stop=["x"], seed="7", max_tokens="12", model="scripted:x")
    assert graph.context_schema is RoleChoice


def test_the_scene_graph_plays_and_waits_for_people() -> None:
    chosen = {"scene": "last-booth", "model": "scripted:More coffee?|No pie, then.", "turns": 2}
    lines = run("scene", {}, **chosen)["lines"]
    assert [line["text"] for line in lines[-2:]] == ["More coffee?", "No pie, then."]
    people = {**chosen, "persons": ["juno-macguff"]}
    graph = served("scene", **people)
    graph.checkpointer = InMemorySaver()
    (asked,) = graph.invoke({}, THREAD, context=people)["__interrupt__"]
    assert asked.value["seat"] == "juno-macguff"
    told: Any = Command(resume=line_by("juno-macguff", "Whatever."))
    assert graph.invoke(told, THREAD, context=people)["lines"][-2]["text"] == "Whatever."


def test_the_scenes_own_model_goes_before_that_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:By the settings.")
    scene = {
        "id": "hut",
        "title": "A hut",
        "setting": "A hut.",
        "cast": [{"id": "ada", "name": "Ada", "about": "You wait."}],
    }
    path = tmp_path / "hut.yaml"
    for model, text in ((None, "By the settings."), ("scripted:By the scene.", "By the scene.")):
        path.write_text(json.dumps({**scene, **({"model": model} if model else {})}), encoding="utf-8")
        assert run("scene", {}, scene=str(path), turns=1)["lines"][-1]["text"] == text


def test_the_profile_graph_takes_its_script_as_plain_data(tmp_path: Path) -> None:
    script = written(tmp_path)
    output = run("profile", {"request": {"script": str(script), "role": "Ada"}})
    persona, title = build_profile(ProfileRequest(script, "Ada"))
    assert (Persona.model_validate(output["persona"]), output["title"]) == (persona, title)
    few = run("profile", {"request": {"script": str(script), "role": "Ada", "demonstrations": 2}})
    assert len(few["persona"]["demonstrations"]) == 2 < len(persona.demonstrations)
    for nothing in ({}, {"request": {"role": "Ada"}}, {"request": None}):
        with pytest.raises(ScriptError, match="The request names no script"):
            run("profile", nothing)


def test_the_profile_graph_keeps_no_note_of_another_script(tmp_path: Path) -> None:
    note = {"kind": "knowledge", "title": "My father", "text": "He was a careful man once.", "line": 4}
    chosen = {"model": f"scripted:{json.dumps({'notes': [note]})}"}
    graph = served("profile", **chosen)
    graph.checkpointer = InMemorySaver()

    def titles(text: str) -> list[str]:
        told = {"request": {"script": str(written(tmp_path, text)), "role": "Ada"}}
        return [
            piece["title"] for piece in graph.invoke(told, THREAD, context=chosen)["persona"]["knowledge"]
        ]

    assert "My father" in titles(LAMP)
    assert "My father" not in titles(BAKERY)


def test_the_context_instruct_graph_takes_the_number_of_a_request() -> None:
    chosen = {"persona": "shrek", "model": f"scripted:{QUESTION}|Because it is mine, donkey."}
    output = run("context_instruct", {"place": 1}, **chosen)
    assert [one["text"] for one in output["questions"]] == ["Shrek, why the swamp?"]
    (answer,) = output["answers"]
    assert (answer["answer"], answer["persona"], answer["model"]) == (
        "Because it is mine, donkey.",
        "shrek",
        chosen["model"],
    )
    for place in (-1, 999):
        with pytest.raises(SettingsError, match=f"no request {place}; give a “place” from 0 to"):
            run("context_instruct", {"place": place}, **chosen)


def test_without_a_number_the_first_request_is_sent() -> None:
    chosen = {"persona": "shrek", "model": "scripted:No JSON at all.", "guided": True}
    assert run("context_instruct", {}, **chosen) == run("context_instruct", {"place": 0}, **chosen)


def test_the_rolegpt_graph_takes_an_instruction() -> None:
    chosen = {
        "persona": "shrek",
        "model": "scripted:Onions. All onions.",
        "samples": 3,
        "strategy": "zero-shot",
    }
    answers = run("rolegpt", {"instruction": "Name three fruits."}, **chosen)["answers"]
    assert [one["answer"] for one in answers] == ["Onions. All onions."] * 3
    assert len({one["seed"] for one in answers}) == 3
    assert {one["strategy"] for one in answers} == {"zero-shot"}
    with pytest.raises(MessageError, match="There is no instruction"):
        run("rolegpt", {"instruction": " "}, **chosen)


@pytest.mark.parametrize(
    ("name", "told", "model", "found"),
    [
        ("rolegpt", {"instruction": "Name three fruits."}, "scripted:Onions. All onions.", "answers"),
        ("context_instruct", {"place": 0}, f"scripted:{QUESTION}|Mine.|{QUESTION}|Mine.", "answers"),
        ("judge", {"messages": CHAT}, 'scripted:{"reason": "Fine.", "grade": 4}', "verdicts"),
    ],
)
def test_another_call_on_a_thread_gives_its_own_results_alone(
    name: str, told: Any, model: str, found: str
) -> None:
    chosen = {"model": model, "persona": "shrek"}
    graph = served(name, **chosen)
    graph.checkpointer = InMemorySaver()

    async def twice() -> list[int]:
        return [len((await graph.ainvoke(told, THREAD, context=chosen))[found]) for _ in range(2)]

    first, second = asyncio.run(twice())
    assert first == second > 0


def test_the_judge_graph_takes_a_conversation() -> None:
    model = 'scripted:{"reason": "Fine.", "grade": 4}'
    told = {"messages": [SystemMessage("Be brief."), *CHAT], "references": ["I am Holmes."]}
    verdicts = run("judge", told, rubrics=["voice", "safety"], model=model)["verdicts"]
    assert [(one["measure"], one["value"], one["reason"]) for one in verdicts] == [
        ("voice", 4.0, "Fine."),
        ("safety", 4.0, "Fine."),
    ]
    prompts = prompts_to(model, cached_model_for_many, 0.0)
    assert all("Sherlock Holmes, at your service." in prompt[0].text for prompt in prompts)
    assert not any("Be brief." in prompt[0].text for prompt in prompts)


@pytest.mark.parametrize("messages", [[], CHAT[:1], CHAT[1:], [*CHAT, HumanMessage("And you?")]])
def test_the_judge_graph_wants_an_answer_to_judge(messages: Any) -> None:
    with pytest.raises(JudgingError, match="The last message must be the persona's answer"):
        run("judge", {"messages": messages}, model="scripted:x")


@pytest.mark.model
def test_by_the_embedded_model_likelihood_is_judged() -> None:
    (verdict,) = run("judge", {"messages": CHAT})["verdicts"]
    assert (verdict["measure"], verdict["status"]) == ("likelihood", "scored")
