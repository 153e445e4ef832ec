"""Each page of docs/extending: its code runs as it stands, and its entry point works where a name does."""

import asyncio
import importlib
import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from helpers.extension_pages import DOCS, Page, install
from helpers.here import rolellm_here
from helpers.small_rolebench import ADA, BEN, write_cast, write_small_data
from langchain_core.messages import HumanMessage

from rolellm_agents.errors import SceneError
from rolellm_agents.judging import ConversationTurn, Judged
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.prompting.strategies import get_strategy
from rolellm_agents.recall import RecallOptions
from rolellm_agents.scene import load_scene
from rolellm_agents.scene.directors import DirectorFunction
from rolellm_agents.scene.run_file import RunLine, as_text, first_line, run_line
from rolellm_agents.transcript import Transcript
from rolellm_graphs import RoleChatModel, SceneContext, Session, persona_tool, role_graph, scene_graph
from rolellm_graphs.judge.graph import judge_replies
from rolellm_graphs.judge.judges import judge_config, pair_judge_named, reply_judge_named
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage, stored_scene
from rolellm_graphs.scene.state import PersonsLine

HOLMES = "sherlock-holmes"
Install = Callable[[str], Page]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Page]]:
    """Installs the package of a page, as its reader would name it."""

    def install_page(name: str) -> Page:
        page = Page(name)
        install(tmp_path / "site", page.module, page.groups)
        return page

    monkeypatch.syspath_prepend(tmp_path / "site")
    yield install_page
    sys.modules.pop("my_package", None)
    importlib.invalidate_caches()


def test_every_page_is_listed_and_tested_here() -> None:
    pages = {page.stem for page in DOCS.glob("*.md")} - {"README"}
    assert pages == {
        "strategy",
        "director",
        "message-kind",
        "judge",
        "metric",
        "provider",
        "recall-method",
    }
    index = (DOCS / "README.md").read_text()
    assert all(f"({page}.md)" in index for page in pages)


def test_a_strategy() -> None:
    names = Page("strategy").run()
    assert names["answer"]["messages"][-1].text == "Quite so."
    assert any("seventeen stairs" in item.get("text", "") for item in names["answer"]["recalled"])
    model = ScriptedChatModel(replies=["Yes."])
    role_graph(HOLMES, model=model, strategy=names["knowing"]).invoke(
        {"messages": [HumanMessage("Where is Baker Street?")]}
    )
    instruction, line = model.calls[0]
    assert "seventeen stairs" in instruction.text
    assert line.text == "Where is Baker Street?"


def test_an_object_is_a_strategy_wherever_a_name_is() -> None:
    knowing = Page("strategy").run()["knowing"]
    model = ScriptedChatModel(replies=["Yes."])
    chat = RoleChatModel(HOLMES, model=model, strategy=knowing)
    assert chat.strategy == "my_package.Knowing"
    assert [message.type for message in chat.prompt("Baker Street?")] == ["system", "human"]
    persona_tool(HOLMES, model=model, strategy=knowing).invoke("Baker Street?")
    assert "seventeen stairs" in model.calls[-1][0].text


async def test_a_session_keeps_a_strategy_of_ones_own_with_another_model(tmp_path: Path) -> None:
    knowing = Page("strategy").run()["knowing"]
    model = ScriptedChatModel(replies=["Yes."])
    with Transcript(tmp_path / "t.db") as transcript:
        session = Session(load_persona(HOLMES), transcript, model=model, strategy=knowing)
        assert [event async for event in session.send("Baker Street?")]
        assert session.messages[-1].made_by["strategy"] == session.strategy == "my_package.Knowing"
        assert session.another_voice(model=model).prompting.strategy_function is knowing


def test_a_strategy_by_its_name(installed: Install) -> None:
    installed("strategy")
    said = rolellm_here(
        "say", HOLMES, "Hello.", "--strategy", "knowing", "--model", "scripted:Quite.", "--json"
    )
    assert json.loads(said.stdout)["made_by"]["strategy"] == "knowing", said.stderr
    assert get_strategy("knowing").recalls.method == "bm25"  # type: ignore[attr-defined]


@pytest.fixture
def rolebench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small RoleBench in the current folder."""
    write_cast(ADA, BEN)
    monkeypatch.chdir(tmp_path)
    return write_small_data(tmp_path / "RoleBench")


def test_a_strategy_is_compared_with_ours(rolebench: Path) -> None:
    page = Page("strategy")
    rows = page.run(*page.further)["rows"]
    assert [(row["strategy"], row["n"]) for row in rows] == [("system", 4), ("my_package.Knowing", 4)]
    config = json.loads(Path("run/config.json").read_text())["config"]
    assert config["strategies"] == ["system", "my_package.Knowing"]


def test_a_strategy_is_compared_with_ours_by_its_name(installed: Install, rolebench: Path) -> None:
    installed("strategy")
    told = {
        "strategies": ("--strategy", "system", "--strategy", "knowing"),
        "rolebench": ("--strategy", "system", "--strategy", "knowing"),
        "drift": ("--strategy", "knowing", "--persona", "ada", "--turns", "2", "--interviews", "1"),
    }
    for command, options in told.items():
        data = () if command == "drift" else ("--data", str(rolebench))
        out = rolebench.parent / command
        ran = rolellm_here(
            *("eval", command, *data, *options, "--model", "scripted:Yes.", "--out", str(out), "--json")
        )
        assert ran.returncode == 0, ran.stderr
        assert '"knowing"' in ran.stdout
        config = json.loads((out / "config.json").read_text())["config"]
        assert config["packages"] == {"knowing": "my-package 1.2"}


def test_a_director() -> None:
    output = Page("director").run()["output"]
    turns = [line for line in output["lines"] if line["made_by"].get("why", "").startswith("Has said only")]
    assert len(turns) == 3
    assert len({line["speaker"] for line in turns[:2]}) == 2


def test_a_run_of_a_director_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page("director")
    monkeypatch.chdir(tmp_path)
    lines = asyncio.run(_played(page.run()["quietest"]))
    Path("dinner.jsonl").write_text("".join(map(as_text, lines)))
    names = page.run(*page.further)
    assert len(names["replayed"].played) > 3
    assert names["replayed"].first_difference is None
    ran = rolellm_here("scene", "replay", "dinner.jsonl")
    assert ran.returncode == 2
    assert "my_package.quietest directed this run" in ran.stderr


async def _played(director: DirectorFunction) -> list[RunLine]:
    """Three turns of a scene, as lines of a run file."""
    ensemble = Ensemble(load_scene("last-booth"), model="scripted:I see.|Do you?", director=director)
    with Transcript(None) as transcript:
        stage = Stage(ensemble, transcript, seed=1, persons=())
        lines = [first_line(stage.loaded, 1, {}, director=ensemble.choose_speaker)]
        for turn in (1, 2, 3):
            before = len(stage.messages)
            await _all_of(stage.step())
            for message in stage.messages[before:]:
                opening = "opening" in message.made_by
                lines.append(
                    run_line(
                        stage.loaded,
                        message,
                        turn=0 if opening else turn,
                        calls=() if opening else list(stage.calls),
                    )
                )
    return lines


async def test_a_director_may_be_asked_asynchronously() -> None:
    quietest = Page("director").run()["quietest"]
    graph = scene_graph("last-booth", model="scripted:I see.", director=quietest)
    output = await graph.ainvoke({}, context=SceneContext(turns=1))
    assert output["lines"][-1]["made_by"]["why"].startswith("Has said only")


def test_a_director_by_its_name(installed: Install, tmp_path: Path) -> None:
    installed("director")
    out = tmp_path / "run.jsonl"
    ran = rolellm_here(
        *("scene", "run", "last-booth", "--director", "quietest", "--model", "scripted:I see."),
        *("--turns", "2", "--out", str(out)),
    )
    assert ran.returncode == 0, ran.stderr
    assert "Has said only" in out.read_text()
    scene = tmp_path / "booth.yaml"
    shown = DOCS.parents[1] / "personas/rolellm_personas/scenes/last-booth.yaml"
    scene.write_text(shown.read_text().replace("director: round-robin", "director: quietest"))
    assert load_scene(scene).scene.director.kind == "quietest"


def test_a_message_kind() -> None:
    names = Page("message-kind").run()
    juno, walt = (line for line in names["output"]["lines"] if "opening" not in line["made_by"])
    assert (juno["kind"], juno["text"]) == ("sign", "Do not look round.")
    assert juno["audience"] == ["juno-macguff", "walt-kowalski"]
    # Nobody signs to himself, so this is for nobody.
    assert (walt["kind"], walt["audience"]) == ("think", ["walt-kowalski"])


def test_a_stage_stores_a_message_kind_and_goes_on_with_it(tmp_path: Path) -> None:
    sign = Page("message-kind").run()["sign"]
    loaded = load_scene("last-booth").with_turn_kinds(["say", sign])
    with Transcript(tmp_path / "t.db") as transcript:
        stage = Stage(Ensemble(loaded, model="scripted:Well."), transcript)
        said = PersonsLine(seat="juno-macguff", kind="sign", to=["walt-kowalski"], text="Come.")
        asyncio.run(_all_of(stage.say(said)))
        assert stage.messages[-1].kind == "sign"
        assert stage.conversation is not None
        again, _ = stored_scene(transcript, stage.conversation, turn_kinds=[sign])
        assert again.scene.turn_kinds == loaded.scene.turn_kinds
        with pytest.raises(SceneError, match="cannot be played here: there is no turn kind 'sign'"):
            stored_scene(transcript, stage.conversation)


async def _all_of(events: AsyncIterator[object]) -> list[object]:
    return [event async for event in events]


def test_a_message_kind_by_its_name(installed: Install, tmp_path: Path) -> None:
    installed("message-kind")
    scene, out = tmp_path / "booth.yaml", tmp_path / "run.jsonl"
    shown = DOCS.parents[1] / "personas/rolellm_personas/scenes/last-booth.yaml"
    page = (DOCS / "message-kind.md").read_text()
    (manners,) = re.findall(r"^```yaml\n(manners: .*)\n", page, re.MULTILINE)
    scene.write_text(f"{shown.read_text()}\n{manners}\n")
    ran = rolellm_here(
        *("scene", "run", str(scene), "--model", "scripted:(signs to Walt Kowalski) Quiet."),
        *("--turns", "1", "--out", str(out)),
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(out.read_text().splitlines()[-1])["kind"] == "sign"
    replayed = rolellm_here("scene", "replay", str(out))
    assert replayed.returncode == 0, replayed.stderr


def test_a_judge() -> None:
    (verdict,) = Page("judge").run()["verdicts"]
    assert (verdict.subject, verdict.measure, verdict.value) == ("1", "warmth", 1.0)


def test_a_judge_by_its_name(installed: Install) -> None:
    installed("judge")
    model = ScriptedChatModel(replies=["no"])
    judge = reply_judge_named("warmth", model, model_name="m", seed=3)
    reply = Judged(
        key="a", persona=load_persona(HOLMES), turns=(ConversationTurn("user", "Hi."),), reply="Begone."
    )
    (verdict,) = asyncio.run(judge_replies([judge], [reply]))
    assert (verdict.value, verdict.model, model.options[0]["seed"]) == (0.0, "m", 3)
    assert judge_config("warmth", [("m", model)])["package"] == "my-package 1.2"
    with pytest.raises(Exception, match="'warmth' judges one reply; ranking or likelihood compares two"):
        pair_judge_named("warmth", model)


def test_a_judge_by_its_name_in_a_command(installed: Install) -> None:
    installed("judge")
    checked = rolellm_here(
        *("judge", "check", "--judge", "warmth", "--model", "scripted:Yes.", "--limit", "1", "--json")
    )
    assert [one["measure"] for one in json.loads(checked.stdout)["judges"][0]["measures"]] == ["warmth"]


def test_a_metric() -> None:
    scores = Page("metric").run()["scores"]
    assert scores["my_package.word_overlap"] == [3 / 5]
    assert scores["rouge-l-f1"] == [pytest.approx(3 / 4)]


@pytest.mark.parametrize(("over", "value"), [("first", 0.6), ("max", 0.6), ("mean", 0.3)])
def test_a_metric_by_its_name(installed: Install, tmp_path: Path, over: str, value: float) -> None:
    installed("metric")
    mine, gold = tmp_path / "mine.jsonl", tmp_path / "gold.jsonl"
    mine.write_text(json.dumps({"reply": "I keep the lamp."}))
    gold.write_text(json.dumps({"references": ["I keep the light.", "No."]}))
    scored = rolellm_here(
        *("eval", "score", "-p", str(mine), "-r", str(gold), "--metric", "word-overlap"),
        *("--over", over, "--language", "en", "--json"),
    )
    assert json.loads(scored.stdout)["value"] == pytest.approx(value), scored.stderr


def test_a_provider() -> None:
    assert Page("provider").run()["answer"]["messages"][-1].text == "Indeed. Indeed."


def test_a_provider_by_its_name(installed: Install) -> None:
    installed("provider")
    said = rolellm_here("say", HOLMES, "Indeed.", "--model", "echo:2", "--strategy", "system", "--json")
    assert json.loads(said.stdout)["text"] == "Indeed. Indeed.", said.stderr


def test_a_recall_method() -> None:
    names = Page("recall-method").run()
    assert [one.metadata["title"] for one in names["found"]] == ["Dr John Watson"]
    assert any("letter pairs" in item["why"] for item in names["answer"]["recalled"])


def test_a_recall_method_by_its_name(installed: Install) -> None:
    installed("recall-method")
    model = ScriptedChatModel(replies=["Yes."])
    graph = role_graph(
        HOLMES, model=model, strategy="retrieval", recall=RecallOptions(method="letter-pairs", k=2)
    )
    recalled = graph.invoke({"messages": [HumanMessage("Watson's army")]})["recalled"]
    assert all("letter pairs" in item["why"] for item in recalled)
    found = rolellm_here("recall", HOLMES, "Watson's army", "--method", "letter-pairs", "--json")
    assert "letter pairs" in found.stdout, found.stderr
