"""The OpenAI path against a real server: llama.cpp's own, with the embedded model."""

import asyncio
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from helpers.llama_server import llama_server
from helpers.scenes import room
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import describe_model, describe_sampling, get_model
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.reasoning import reasoning_of
from rolellm_agents.persona import Persona
from rolellm_agents.scene.scene import Stop
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import MessageDone, Prompted, Recalled, TokenDelta, TurnFailed
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.run import play
from rolellm_graphs.scene.stage import Stage

# Only looked for: its llama.cpp must not be loaded beside the one this process may hold.
pytestmark = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp is not installed")

KEY = "sk-right"
NAME = "openai:smollm2"
QUESTION = "Name the capital of France."
STORY = "Tell a story."


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The server's base URL."""
    with llama_server(embedded_gguf(), alias="smollm2", api_key=KEY) as url:
        yield url


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, home: object) -> None:
    """The key that the server wants; set after the conftest's `home` has removed whatever was there."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def greedy(url: str, max_tokens: int = 16) -> BaseChatModel:
    return get_model(NAME, base_url=url, temperature=0, max_tokens=max_tokens)


def joined(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


async def test_all_four_ways_to_ask_give_the_same_answer_and_count(server: str) -> None:
    model = greedy(server)
    answer = model.invoke(QUESTION)
    assert "Paris" in answer.text
    usage = answer.usage_metadata
    assert usage is not None
    assert usage["input_tokens"] > 20
    assert 4 < usage["output_tokens"] < 16
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.response_metadata["model_name"] == "smollm2"

    streams = [list(model.stream(QUESTION)), [chunk async for chunk in model.astream(QUESTION)]]
    for chunks in streams:
        assert sum(bool(chunk.text) for chunk in chunks) >= 4
        whole = joined(chunks)
        assert whole.text == answer.text
        assert whole.usage_metadata is not None
        assert whole.usage_metadata["output_tokens"] == usage["output_tokens"]
        assert whole.response_metadata["finish_reason"] == "stop"
    assert (await model.ainvoke(QUESTION)).text == answer.text


def test_one_model_serves_one_event_loop_after_another(server: str) -> None:
    """As a script does that calls `asyncio.run` for each question; the server keeps connections open."""
    model = greedy(server, max_tokens=1)
    answers = [asyncio.run(model.ainvoke(QUESTION)).text for _ in range(3)]
    assert answers == [model.invoke(QUESTION).text] * 3


@pytest.mark.parametrize("max_tokens", [1, 5])
def test_no_answer_is_longer_than_allowed(server: str, max_tokens: int) -> None:
    answer = greedy(server, max_tokens).invoke(STORY)
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] == max_tokens
    assert answer.response_metadata["finish_reason"] == "length"


@pytest.mark.core
def test_a_stop_string_ends_the_answer_and_is_not_in_it(server: str) -> None:
    assert greedy(server).invoke(QUESTION, stop=["France"]).text.strip() == "The capital of"


def test_a_seed_makes_an_answer_repeatable(server: str) -> None:
    """The model's own seed, and one given with the call, as a session does."""
    model = get_model(NAME, base_url=server, temperature=1, max_tokens=12, seed=3)
    first = model.invoke(STORY).text
    assert model.invoke(STORY).text == first
    others = {model.invoke(STORY, seed=seed).text for seed in (4, 5, 6)}
    assert others != {first}
    assert model.invoke(STORY, seed=3).text == first


async def test_a_whole_turn_of_a_session(server: str, holmes: Persona) -> None:
    with Transcript() as transcript:
        session = Session(holmes, transcript, model=greedy(server))
        events = [event async for event in session.send("Who are you?")]
        kept = transcript.path(session.messages[0].conversation)
    line, recalled, prompted, *words, done = events
    assert isinstance(line, MessageDone)
    assert isinstance(recalled, Recalled)
    assert isinstance(prompted, Prompted)
    assert isinstance(done, MessageDone)
    deltas = [word.text for word in words if isinstance(word, TokenDelta)]
    assert len(deltas) == len(words) > 3
    assert done.message.text == "".join(deltas) != ""
    assert (done.message.status, done.message.made_by["model"]) == ("complete", NAME)
    assert done.message.usage is not None
    assert done.message.usage["output_tokens"] <= 16
    assert kept == list(session.messages) == [line.message, done.message]


async def test_a_turn_that_is_stopped_keeps_what_was_said_and_the_server_goes_on(
    server: str, holmes: Persona
) -> None:
    with Transcript() as transcript:
        session = Session(holmes, transcript, model=greedy(server, max_tokens=1000), strategy="zero-shot")
        events = []
        async for event in session.send("Tell me the whole story of your life."):
            events.append(event)
            if isinstance(event, TokenDelta):
                session.cancel()
        stopped = events[-1]
        assert isinstance(stopped, MessageDone)
        assert stopped.message.status == "stopped"
        assert stopped.message.text == "".join(
            event.text for event in events if isinstance(event, TokenDelta)
        )
    assert "Paris" in greedy(server).invoke(QUESTION).text


@pytest.mark.parametrize("streamed", [False, True])
def test_a_message_longer_than_the_context_is_told_as_such(server: str, streamed: bool) -> None:
    model = greedy(server)
    too_long = "cat " * 3000
    with pytest.raises(Exception, match="2048") as raised:
        list(model.stream(too_long)) if streamed else model.invoke(too_long)
    error = explain_failure(raised.value, model)
    assert isinstance(error, ModelError)
    assert str(error).startswith(f"The message is too long for {NAME} (")
    assert str(error).endswith("; shorten it.")


@pytest.mark.core
async def test_a_wrong_key_fails_the_turn_and_is_not_shown(
    server: str, holmes: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-wrong")
    model = get_model(NAME, base_url=server, api_key_env="MY_KEY")
    with Transcript() as transcript:
        session = Session(holmes, transcript, model=model)
        failed = [event async for event in session.send("Who are you?")][-1]
    assert isinstance(failed, TurnFailed)
    assert str(failed.error) == (
        f"{server} refuses the API key for {NAME} (401); set the right one in OPENAI_API_KEY, or in the "
        "variable that api_key_env names in models.toml."
    )


def test_the_base_url_can_come_from_the_environment(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server)
    model = get_model(NAME, temperature=0, max_tokens=16)
    assert "Paris" in model.invoke(QUESTION).text
    assert describe_model(model) == NAME


# A model that reasons, behind a server that does not separate its reasoning

THOUGHT = "secretly the goose has it"
SPOKEN = r'[A-Z] [a-z ]{8,30} "."'
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
OPENED = CHATML.replace("assistant\n", "assistant\n<think>\n")
REASONERS = pytest.mark.parametrize(
    ("grammar", "template"),
    [
        pytest.param(rf'root ::= "<think>\n{THOUGHT}\n</think>\n" {SPOKEN}', CHATML, id="marked"),
        pytest.param(rf'root ::= "{THOUGHT}\n</think>\n" {SPOKEN}', OPENED, id="opened by the prompt"),
    ],
)


@REASONERS
async def test_nobody_hears_a_thought_in_a_scene_of_models_that_reason(grammar: str, template: str) -> None:
    loaded = room("Ada", "Ben", "Cleo", stop=Stop(turns=6))
    with (
        llama_server(
            embedded_gguf(), alias="m", api_key=KEY, grammar=grammar, chat_template=template
        ) as url,
        Transcript() as transcript,
    ):
        model = get_model("openai:m", base_url=url, max_tokens=60)
        stage = Stage(Ensemble(loaded, model=model), transcript, seed=3)
        events = [event async for event in play(stage)]
    prompts = [part.text for event in events if isinstance(event, Prompted) for part in event.parts]
    heard = [event.text for event in events if isinstance(event, TokenDelta)]
    assert stage.turns == 6
    assert len(heard) >= 6
    for text in (*prompts, *heard, *(message.text for message in stage.messages)):
        assert "secretly" not in text
        assert "think>" not in text
    thoughts = {m.made_by["reasoning_content"] for m in stage.messages if "model" in m.made_by}
    assert thoughts == {THOUGHT}


async def test_the_first_streamed_answer_is_not_heard_before_its_reasoning_has_ended() -> None:
    grammar = rf'root ::= "{THOUGHT}\n</think>\n" {SPOKEN}'
    with llama_server(
        embedded_gguf(), alias="m", api_key=KEY, grammar=grammar, chat_template=OPENED
    ) as url:
        in_a_thread = list(get_model("openai:m", base_url=url, max_tokens=60).stream("Hi"))
        awaited = [
            chunk async for chunk in get_model("openai:m", base_url=url, max_tokens=60).astream("Hi")
        ]
    for chunks in (in_a_thread, awaited):
        assert "secretly" not in joined(chunks).text
        assert reasoning_of(joined(chunks)) == THOUGHT


def test_samplers_are_sent_in_the_words_of_servers_and_refused_by_openai(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model: Any = get_model(
        "openai:x",
        base_url="http://127.0.0.1:1/v1",
        top_p=0.9,
        min_p=0.05,
        repeat_penalty=1.1,
        stop=["END"],
    )
    payload = model._get_request_payload([HumanMessage("Hi")])
    assert (payload["top_p"], payload["stop"]) == (0.9, ["END"])
    assert payload["extra_body"] == {"min_p": 0.05, "repeat_penalty": 1.1, "repetition_penalty": 1.1}
    assert describe_sampling(model)["min_p"] == 0.05
    with pytest.raises(ModelError, match="takes a number as min_p"):
        get_model("openai:x", base_url="http://127.0.0.1:1/v1", min_p="much")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with pytest.raises(ModelError, match="OpenAI's own models take no 'min_p'"):
        get_model("openai:gpt-4o-mini", min_p=0.05)
