"""Scenes that answer as models: several speak, and the person sees what their seat sees."""

import json
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from helpers.api_server import asked_in_process, options_of
from helpers.texts import number_of
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.scene import NARRATOR
from rolellm_graphs.server.app import create_app
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.scene_memory import SceneMemory
from rolellm_graphs.server.scene_text import WrittenLine, format_lines, parse_lines

CHAT = "/v1/chat/completions"
SCENE = """\
id: lighthouse
title: The Lighthouse
setting: The lamp room of a lighthouse, at night.
cast:
  - {persona: sherlock-holmes, secrets: [You put out the lamp.]}
  - {persona: abraham-lincoln}
  - {id: guest, name: The Guest, person: true}
opening:
  - {speaker: sherlock-holmes, kind: whisper, to: [abraham-lincoln], text: Say nothing of the lamp.}
  - {speaker: abraham-lincoln, text: "Come in, friend."}
events:
  - {after: 4, text: A wave breaks over the gallery.}
director: round-robin
stop: {turns: 12}
"""
NAMES = {"sherlock-holmes": "Sherlock Holmes", "abraham-lincoln": "Abraham Lincoln", "guest": "Bell, Mr."}


@pytest.fixture
def app() -> FastAPI:
    folder = user_paths().scenes
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lighthouse.yaml").write_text(SCENE, encoding="utf-8")
    model = FunctionModel(function=lambda messages: f"That makes {number_of(messages) % 10**9}, I believe.")
    app = create_app(options_of(model))
    app.state.model = model
    return app


async def played(client: httpx.AsyncClient, messages: list[Any], **fields: Any) -> dict[str, Any]:
    response = await client.post(CHAT, json={"model": "scene:lighthouse", "messages": messages, **fields})
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


async def test_a_damaged_scene_is_the_servers_matter(
    app: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    file = user_paths().scenes / "lighthouse.yaml"
    file.write_text("cast: [", encoding="utf-8")
    async with asked_in_process(app) as client:
        refused = await client.post(CHAT, json={"model": "scene:lighthouse", "messages": [user("Hello.")]})
    assert refused.status_code == 500
    assert str(file) not in refused.text
    assert str(file) in caplog.text
    assert refused.headers["x-request-id"] in caplog.text


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


async def test_characters_answer_by_name_and_whispers_of_others_are_not_told(app: FastAPI) -> None:
    async with asked_in_process(app) as client:
        told = await played(client, [user("Good evening, gentlemen.")])
    text = told["choices"][0]["message"]["content"]
    lines = told["scene"]["messages"]
    assert told["scene"]["seat"] == "guest"
    assert text.startswith("**Abraham Lincoln:** Come in, friend.\n\n")
    assert "lamp" not in json.dumps(told)
    assert {line["name"] for line in lines} == {"sherlock-holmes", "abraham-lincoln"}
    assert [line["content"] for line in lines] == [one.text for one in parse_lines(text, NAMES)]
    assert told["usage"]["completion_tokens"] > 0


async def test_a_scene_goes_on_the_same_from_its_text_and_keeps_what_its_text_does_not_tell(
    app: FastAPI,
) -> None:
    async with asked_in_process(app) as client:
        first = await played(client, [user("Good evening.")], seed=3)
        answer = {"role": "assistant", "content": first["choices"][0]["message"]["content"]}
        conversation = [user("Good evening."), answer, user("/whisper lincoln Who is he?")]
        second = await played(client, conversation, seed=3)
        again = await played(client, conversation, seed=3)
    said = second["scene"]["messages"]
    assert said == again["scene"]["messages"]
    assert "Come in, friend." not in str(said)  # the opening is over
    model = app_model(app)
    asked = [prompt for prompt in model.calls if any("Who is he?" in one.text for one in prompt)]
    # What was whispered in the opening is still known to the two, and the new whisper to Lincoln alone.
    assert asked
    assert all("You put out the lamp" not in one.text for prompt in asked for one in prompt)
    assert any("Say nothing of the lamp" in one.text for prompt in asked for one in prompt)
    others = [prompt for prompt in model.calls if any("You put out the lamp" in one.text for one in prompt)]
    assert others
    assert all("Who is he?" not in one.text for prompt in others for one in prompt)


async def test_a_scene_that_nobody_remembers_goes_on_from_its_text_alone(app: FastAPI) -> None:
    conversation = [
        user("Good evening."),
        {
            "role": "assistant",
            "content": "**Abraham Lincoln:** Come in, friend.\n\n**Sherlock Holmes:** Wet boots.",
        },
        user("It rains."),
    ]
    async with asked_in_process(app) as client:
        told = await played(client, conversation)
    assert "Come in, friend." not in str(told["scene"]["messages"])
    prompts = app_model(app).calls
    assert any("Wet boots." in one.text for prompt in prompts for one in prompt)


async def test_the_person_takes_the_seat_that_is_named(app: FastAPI) -> None:
    async with asked_in_process(app) as client:
        asked = {"model": "scene:lighthouse@abraham-lincoln", "messages": [user("Who is there?")]}
        told = (await client.post(CHAT, json=asked)).json()
        by_header = {"model": "scene:lighthouse", "messages": [user("Who is there?")]}
        seat = (
            await client.post(CHAT, json=by_header, headers={"X-RoleLLM-Seat": "sherlock-holmes"})
        ).json()
        nobody = await client.post(CHAT, json={**asked, "model": "scene:lighthouse@nobody"})
    assert told["scene"]["seat"] == "abraham-lincoln"
    assert "Say nothing of the lamp." in told["choices"][0]["message"]["content"]
    assert all(
        line["name"] != "abraham-lincoln" or line["content"] == "Come in, friend."
        for line in told["scene"]["messages"]
    )
    assert seat["scene"]["seat"] == "sherlock-holmes"
    assert (nobody.status_code, nobody.json()["error"]["message"]) == (
        404,
        "There is no seat 'nobody'; seats are sherlock-holmes, abraham-lincoln, guest.",
    )


async def test_a_scene_that_is_over_says_so(app: FastAPI) -> None:
    conversation: list[dict[str, Any]] = []
    async with asked_in_process(app) as client:
        for number in range(12):
            conversation.append(user(f"And number {number}?"))
            response = await client.post(CHAT, json={"model": "scene:lighthouse", "messages": conversation})
            if response.status_code != 200:
                break
            conversation.append(response.json()["choices"][0]["message"])
    assert number > 1
    assert (response.status_code, response.json()["error"]["code"]) == (400, "scene_over")


async def test_a_stream_brings_line_by_line_who_speaks(app: FastAPI) -> None:
    async with asked_in_process(app) as client:
        asked = {"model": "scene:lighthouse", "messages": [user("Good evening.")], "seed": 3}
        whole = (await client.post(CHAT, json=asked)).json()
        response = await client.post(CHAT, json={**asked, "stream": True})
    chunks = [json.loads(part[6:]) for part in response.text.split("\n\n") if part and "[DONE]" not in part]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert (
        "".join(delta.get("content", "") for delta in deltas) == whole["choices"][0]["message"]["content"]
    )
    assert [delta["name"] for delta in deltas if "name" in delta] == [
        line["name"] for line in whole["scene"]["messages"]
    ]
    assert chunks[-1]["scene"] == whole["scene"]


async def test_commands_that_cannot_be_are_refused(app: FastAPI) -> None:
    async with asked_in_process(app) as client:
        asked = {"model": "scene:lighthouse", "messages": [user("/dance wildly")]}
        refused = await client.post(CHAT, json=asked)
        several = await client.post(CHAT, json={**asked, "n": 2})
    assert refused.status_code == 400
    assert "There is no command /dance" in refused.json()["error"]["message"]
    assert (several.status_code, several.json()["error"]["param"]) == (400, "n")


def app_model(app: FastAPI) -> FunctionModel:
    model = app.state.model
    assert isinstance(model, FunctionModel)
    return model


WORDS = (
    st.text(st.characters(codec="utf-8", exclude_categories=["C"], exclude_characters="*"), min_size=1)
    .map(str.strip)
    .filter(bool)
)
SEATS = st.sampled_from(sorted(NAMES))
LINES = st.one_of(
    st.builds(
        WrittenLine, SEATS, st.sampled_from(["say", "act", "think", "join", "leave"]), st.just(()), WORDS
    ),
    st.builds(WrittenLine, st.just(NARRATOR), st.just("narrate"), st.just(()), WORDS),
    st.builds(
        WrittenLine, SEATS, st.just("whisper"), st.lists(SEATS, min_size=1, unique=True).map(tuple), WORDS
    ),
)


@given(st.lists(LINES, max_size=6))
def test_lines_are_read_as_they_were_written(lines: list[WrittenLine]) -> None:
    assert parse_lines(format_lines(lines, NAMES), NAMES) == lines


@given(st.text())
def test_any_text_can_be_read_and_nothing_of_it_is_lost(text: str) -> None:
    told = parse_lines(text, NAMES)
    kept = "".join("".join(line.text.split()) for line in told)
    assert set(kept) <= set(text)
    if "**" not in text:
        assert kept == "".join(text.split())


def test_what_was_not_asked_for_the_longest_is_forgotten_first() -> None:
    memory = SceneMemory(kept=2)
    for name in ("a", "b"):
        memory.keep(name, [("user", "hi")], [])
    assert memory.find("a", [("user", " hi ")]) == []
    memory.keep("c", [("user", "hi")], [])
    assert memory.find("b", [("user", "hi")]) is None
    assert memory.find("a", [("user", "hi")]) == []
    assert memory.find("a", [("assistant", "hi")]) is None


async def test_models_in_scene_files_are_never_followed() -> None:
    """Not even those of one's own folder: whoever runs the server names its models."""
    asked: list[str] = []
    model = FunctionModel(function=lambda _: "Good evening.")

    def make(spec: str, **_: Any) -> BaseChatModel:
        asked.append(spec)
        return model

    folder = user_paths().scenes
    folder.mkdir(parents=True, exist_ok=True)
    named = "model: 'openai:theirs'\nnarrator: {every: 1, model: 'openai:theirs'}\n"
    scene = SCENE.replace(
        "{persona: abraham-lincoln}", "{persona: abraham-lincoln, model: 'openai:theirs'}"
    )
    director = "director: {kind: model, model: 'openai:theirs'}"
    (folder / "lighthouse.yaml").write_text(named + scene.replace("director: round-robin", director))
    app = create_app(ServerOptions(models=("scripted:",), make=make))
    async with asked_in_process(app) as client:
        await played(client, [user("Good evening.")])
    assert set(asked) == {"scripted:"}
