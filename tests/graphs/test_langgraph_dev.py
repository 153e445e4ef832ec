"""`langgraph dev` over the project's own `langgraph.json`, used through its API as Studio uses it."""

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from helpers.scenes import line_by, prattle
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

pytest.importorskip("langgraph_api", reason="langgraph-cli[inmem] brings langgraph-api")

ROOT = Path(__file__).parents[2]
GRAPHS = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
QUESTION = json.dumps(
    {
        "questions": [
            {"question": "Why the swamp?", "line": 1, "reason": "It is told.", "confidence": "high"}
        ]
    }
)
_START_SECONDS = 120
_NOBODY = "http://127.0.0.1:9"
"""No server listens there."""


def _environment(home: Path) -> dict[str, str]:
    """Without keys, telemetry and ways out."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "OPENAI_", "ROLELLM_"))
    }
    return {
        **kept,
        "HOME": str(home),
        "ROLELLM_HOME": str(home / "rolellm"),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
        "HTTP_PROXY": _NOBODY,
        "HTTPS_PROXY": _NOBODY,
        "NO_PROXY": "127.0.0.1,localhost",
    }


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _wait_for(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    ends = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends and server.poll() is None:
        try:
            if httpx.get(f"{url}/ok", trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"langgraph dev did not start:\n{log.read_text(errors='replace')[-4000:]}")


def _in_repository() -> dict[Path, int]:
    """What a server that somebody started there has written."""
    return {path: path.stat().st_mtime_ns for path in (ROOT / ".langgraph_api").rglob("*")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server is started, and writes."""
    return tmp_path_factory.mktemp("langgraph-dev")


@pytest.fixture(scope="module")
def before() -> dict[Path, int]:
    """What stood in the repository before the server was started."""
    return _in_repository()


@pytest.fixture(scope="module")
def client(folder: Path, before: dict[Path, int]) -> Iterator[SyncLangGraphClient]:
    """One server for all tests."""
    port, log = _free_port(), folder / "log"
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser"]
    with log.open("wb") as out:
        server = subprocess.Popen(
            [*command, "--port", str(port), "--config", str(ROOT / "langgraph.json")],
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_for(url, server, log)
            with get_sync_client(url=url, api_key=None) as client:
                yield client
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def run(client: SyncLangGraphClient, graph: str, told: Any, *, on: Any = None, **chosen: Any) -> Any:
    """One run to its end, on a thread or on none, with what was chosen as `configurable`."""
    return client.runs.wait(on, graph, input=told, config={"configurable": chosen})


def chat(*texts: str) -> dict[str, Any]:
    """A conversation that begins with the user."""
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]}


@pytest.mark.core
def test_every_graph_is_listed_with_its_description(client: SyncLangGraphClient) -> None:
    found = client.assistants.search(limit=50)
    assert {one["graph_id"]: one["description"] for one in found} == {
        name: graph["description"] for name, graph in GRAPHS.items()
    }


@pytest.mark.parametrize("name", GRAPHS)
def test_studio_can_draw_a_graph_and_knows_its_fields(client: SyncLangGraphClient, name: str) -> None:
    (assistant,) = client.assistants.search(graph_id=name)
    schemas: Any = client.assistants.get_schemas(assistant["assistant_id"])
    for part in ("input_schema", "output_schema", "state_schema"):
        assert schemas[part]["properties"], part
    for part in ("config_schema", "context_schema"):
        assert "model" in schemas[part]["properties"], part
    drawn = client.assistants.get_graph(assistant["assistant_id"], xray=True)
    assert {"__start__", "__end__"} < {str(node["id"]) for node in drawn["nodes"]}


@pytest.mark.core
def test_a_persona_answers_and_its_conversation_is_kept(client: SyncLangGraphClient) -> None:
    chosen = {"persona": "shrek", "model": "scripted:Get out.|Still here?", "strategy": "system"}
    thread = client.threads.create()["thread_id"]
    run(client, "role", chat("Hello?"), on=thread, **chosen)
    output = run(client, "role", chat("It is raining."), on=thread, **chosen)
    assert [(one["type"], one["content"]) for one in output["messages"]] == [
        ("human", "Hello?"),
        ("ai", "Get out."),
        ("human", "It is raining."),
        ("ai", "Still here?"),
    ]
    assert output["messages"][-1]["name"] == "shrek"
    assert len(client.threads.get_history(thread)) > 6


def test_its_words_are_streamed(client: SyncLangGraphClient) -> None:
    parts = client.runs.stream(
        None,
        "role",
        input=chat("Hello?"),
        context={"persona": "shrek", "model": "scripted:Out of my swamp!", "note": "Be rude."},
        stream_mode="messages-tuple",
    )
    chunks = [part.data[0]["content"] for part in parts if part.event == "messages"]
    assert len(chunks) > 3
    assert "".join(chunks) == "Out of my swamp!"


def test_another_program_has_it_as_a_remote_graph_and_as_a_node_of_its_own(
    client: SyncLangGraphClient,
) -> None:
    """As `RemoteGraph` and LangGraph's own applications ask it."""
    chosen: Any = {"configurable": {"persona": "shrek", "model": "scripted:Out of my swamp!"}}
    remote = RemoteGraph("role", sync_client=client)
    answer = remote.invoke(chat("Hello?"), chosen)
    assert isinstance(answer, dict)
    assert (answer["messages"][-1]["content"], answer["messages"][-1]["name"]) == (
        "Out of my swamp!",
        "shrek",
    )
    streamed: Any = remote.stream(chat("Hello?"), chosen, stream_mode="messages")
    parts = [part for part, _ in streamed]
    assert "".join(part["content"] for part in parts) == "Out of my swamp!"

    own = StateGraph(MessagesState)
    own.add_node("shrek", remote)
    own.add_edge(START, "shrek")
    state = own.compile().invoke({"messages": [HumanMessage("Hello?")]}, chosen)
    assert [message.text for message in state["messages"]] == ["Hello?", "Out of my swamp!"]


def test_the_embedded_model_answers(client: SyncLangGraphClient) -> None:
    output = run(client, "role", chat("Hello?"), strategy="system", max_tokens=6)
    answer = output["messages"][-1]
    assert answer["name"] == "sherlock-holmes"
    assert 0 < answer["usage_metadata"]["output_tokens"] <= 6


def test_what_cannot_be_chosen_is_told(client: SyncLangGraphClient) -> None:
    with pytest.raises(Exception, match="There is no persona 'shrekk'"):
        run(client, "role", chat("Hello?"), persona="shrekk")


def test_a_scene_waits_for_its_person_and_goes_on(client: SyncLangGraphClient) -> None:
    context: dict[str, Any] = {
        "scene": "last-booth",
        "model": "scripted:No ride, kid.|Not today.",
        "persons": ["juno-macguff"],
        "turns": 3,
    }
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "scene", input={}, context=context)
    state = client.threads.get_state(thread)
    assert state["next"] == ["person"]
    (asked,) = state["tasks"][0]["interrupts"]
    assert asked["value"]["seat"] == "juno-macguff"
    output: Any = None
    for text in ("Nice car.", "Please?"):
        said: Any = line_by("juno-macguff", text)
        output = client.runs.wait(thread, "scene", command={"resume": said}, context=context)
    told = [(line["speaker"], line["text"]) for line in output["lines"][-3:]]
    assert told == [
        ("juno-macguff", "Nice car."),
        ("walt-kowalski", "No ride, kid."),
        ("juno-macguff", "Please?"),
    ]
    assert "__interrupt__" not in output


def test_a_scene_is_played_to_its_end(client: SyncLangGraphClient) -> None:
    told = "|".join(prattle(random.Random(number)) for number in range(20))
    output: Any = client.runs.wait(
        None, "scene", input={}, context={"model": f"scripted:{told}"}, config={"recursion_limit": 500}
    )
    assert output["ended"] == "It has had its 18 turns."


def test_a_profile_is_made_of_a_script(client: SyncLangGraphClient, folder: Path) -> None:
    script = folder / "lamp.txt"
    script.write_text(
        "The Lamp\n\nSCENE 1\n\nBEN. Who keeps the lamp?\nADA. I do, upon my oath, these eleven years.\n"
        "BEN. Then let me in.\nADA. Wipe your feet, upon my oath, and sit by the stove.\n"
    )
    output = run(client, "profile", {"request": {"script": str(script), "role": "Ada"}})
    assert (output["title"], output["persona"]["id"]) == ("The Lamp", "ada")
    assert "I do, upon my oath" in output["persona"]["demonstrations"][0]["reply"]


def test_questions_are_asked_and_answered(client: SyncLangGraphClient) -> None:
    chosen = {"persona": "shrek", "model": f"scripted:{QUESTION}|It is mine, donkey."}
    output = run(client, "context_instruct", {"place": 1}, **chosen)
    assert [one["text"] for one in output["questions"]] == ["Why the swamp?"]
    assert [one["answer"] for one in output["answers"]] == ["It is mine, donkey."]


def test_an_instruction_is_answered_in_a_voice(client: SyncLangGraphClient) -> None:
    chosen: Any = {"persona": "shrek", "model": "scripted:Onions, and more onions.", "samples": 2}
    output = run(client, "rolegpt", {"instruction": "Name three fruits."}, **chosen)
    assert [one["answer"] for one in output["answers"]] == ["Onions, and more onions."] * 2


def test_a_reply_is_judged(client: SyncLangGraphClient) -> None:
    told = chat("Who are you?", "Sherlock Holmes, at your service.")
    chosen: Any = {"model": 'scripted:{"reason": "Fine.", "grade": 4}', "rubrics": ["voice", "safety"]}
    output = run(client, "judge", told, **chosen)
    assert [(one["measure"], one["value"]) for one in output["verdicts"]] == [
        ("voice", 4.0),
        ("safety", 4.0),
    ]


def test_nothing_is_written_into_the_repository(
    client: SyncLangGraphClient, folder: Path, before: dict[Path, int]
) -> None:
    run(client, "role", chat("Hello?"), model="scripted:Hm.")
    assert (folder / ".langgraph_api").is_dir()
    assert _in_repository() == before
