"""Models that reason: in this process with a budget, on a server in any of its forms, and inside others."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.broken_servers import SSE, Answer, finished, serving, stream_of
from helpers.commands import rolellm
from helpers.tiny_gguf import make_tiny_gguf
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.answer import BUDGETS
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.template import CHATML, ChatTemplate, Turn
from rolellm_agents.models.reasoning import REASONING
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.separated import separated
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.role.graph import role_graph

TOOL = {"type": "function", "function": {"name": "dice", "parameters": {"type": "object"}}}
CALL = '{"name": "dice", "arguments": {}}'
_HEAD = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
ASKED: list[Turn] = [{"role": "user", "content": "Where is it?"}]
# Shapes of published templates: the switch of Qwen 3, the opened reasoning of DeepSeek R1, gpt-oss.
SWITCHED = CHATML.replace(
    "'<|im_start|>assistant\\n' }}",
    "'<|im_start|>assistant\\n' }}{% if enable_thinking is defined and not enable_thinking %}"
    "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}",
)
OPENED = CHATML.replace("'<|im_start|>assistant\\n'", "'<|im_start|>assistant\\n<think>\\n'")
HARMONY = (
    "{% for message in messages %}{{ '<|start|>' + message['role'] + '<|message|>' + message['content'] + "
    "'<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"
    "{# <|channel|>analysis #}"
)


def test_a_template_that_only_shares_a_mark_does_not_reason() -> None:
    """Phi's turns end with `<|end|>`, as the reasoning of gpt-oss does."""
    phi = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>"
    template = ChatTemplate(phi, bos="", eos="")
    assert template.reasoning is None
    assert template.render(ASKED).endswith("<|assistant|>")


@pytest.mark.parametrize("thinking", ["low", "high"])
def test_an_answer_fits_after_reasoning_in_a_short_context(thinking: str, tmp_path: Path) -> None:
    file = make_tiny_gguf(tmp_path / "tiny.gguf", seed=5, template=OPENED)
    model = ChatLlamaCpp(model_path=file, n_ctx=256, seed=1, max_tokens=40, temperature=1)
    assert model.invoke("Where is it? " * 9, thinking=thinking).text


def test_a_thought_before_a_call_is_no_text(tmp_path: Path) -> None:
    """With tools, the grammar lets a model write anything before a call."""
    file = make_tiny_gguf(tmp_path / "tiny.gguf", seed=5)
    answer = ChatLlamaCpp(model_path=file)._answer([HumanMessage("Hi")], None, {"tools": [TOOL]})
    pieces = ("<think>", "secret", "</think>", "Hello.", "<tool_call>\n", CALL, "\n</tool_call>", "\n")
    said = "".join(chunk.text for piece in pieces for chunk in answer.take(piece))
    assert said == "Hello."


@pytest.mark.parametrize(
    ("source", "off", "on"),
    [
        (SWITCHED, "assistant\n<think>\n\n</think>\n\n", "assistant\n<think>\n"),
        (OPENED, "assistant\n<think>\n\n</think>\n\n", "assistant\n<think>\n"),
        (HARMONY, "assistant<|channel|>final<|message|>", "assistant<|channel|>analysis<|message|>"),
        (CHATML, "assistant\n", "assistant\n"),
    ],
)
def test_a_prompt_begins_with_reasoning_or_with_the_answer(source: str, off: str, on: str) -> None:
    template = ChatTemplate(source, bos="", eos="")
    assert template.render(ASKED).endswith(off)
    assert template.render(ASKED, thinking=True).endswith(on)
    for thinking in (False, True):
        closed = template.render(ASKED, answer_follows=False, thinking=thinking)
        assert "think" not in closed


@pytest.fixture(scope="module", params=[OPENED, SWITCHED, HARMONY])
def reasoner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ChatLlamaCpp:
    """A model of random weights, which never closes its reasoning by itself."""
    file = make_tiny_gguf(tmp_path_factory.mktemp("r") / "tiny.gguf", seed=5, template=request.param)
    return ChatLlamaCpp(model_path=file, seed=1, max_tokens=12, temperature=1)


def test_reasoning_that_reaches_its_limit_is_closed_and_answered_after(reasoner: ChatLlamaCpp) -> None:
    answer = reasoner.invoke("Where is it?", thinking="low")
    assert answer.text
    assert answer.usage_metadata is not None
    thought = answer.usage_metadata["output_token_details"]["reasoning"]
    assert 50 < thought <= BUDGETS["low"]
    assert thought < answer.usage_metadata["output_tokens"] <= thought + 12
    assert len(answer.additional_kwargs[REASONING]) > 50
    assert answer.response_metadata["finish_reason"] in {"length", "stop"}


async def test_it_streams_the_same_and_leaves_when_its_reader_does(reasoner: ChatLlamaCpp) -> None:
    whole = reasoner.invoke("Where is it?", thinking="low")
    streamed: AIMessageChunk | None = None
    async for chunk in reasoner.astream("Where is it?", thinking="low"):
        streamed = chunk if streamed is None else streamed + chunk
    assert streamed is not None
    assert (streamed.text, streamed.additional_kwargs) == (whole.text, whole.additional_kwargs)
    async for _ in reasoner.astream("Where is it?", thinking="high"):
        break
    assert reasoner.invoke("And now?").text


def test_without_thinking_an_answer_has_no_reasoning(reasoner: ChatLlamaCpp) -> None:
    answer = reasoner.invoke("Where is it?")
    assert answer.text
    assert REASONING not in answer.additional_kwargs
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] <= 12


def test_a_form_is_filled_without_reasoning(reasoner: ChatLlamaCpp) -> None:
    assert reasoner.invoke("Yes or no?", thinking="low", choices=["yes", "no"]).text in {"yes", "no"}


def test_a_model_that_cannot_reason_says_so(tmp_path: Path) -> None:
    file = make_tiny_gguf(tmp_path / "tiny.gguf", seed=5)
    with pytest.raises(RoleLLMError, match=r"tiny\.gguf has no marks for reasoning.*“thinking” off"):
        get_model(f"llamacpp:{file}", thinking="low").invoke("Hi")
    with pytest.raises(RoleLLMError, match="thinking"):
        get_model(f"llamacpp:{file}", thinking="much")


def test_marks_that_are_control_tokens_are_seen(tmp_path: Path) -> None:
    marks = ("<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|other|>")
    file = make_tiny_gguf(tmp_path / "tiny.gguf", seed=5, template=HARMONY, marks=marks)
    model = ChatLlamaCpp(model_path=file).load().model
    shown = {mark: model.bytes_of(model.tokenize(mark, add_special=False)[0]) for mark in marks}
    assert shown["<|channel|>"] == b"<|channel|>"
    assert shown["<|other|>"] == b""


class Foreign(BaseChatModel):
    """A model of another package, whose answers have their reasoning in the text."""

    streams: bool = True

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("<think>Goose!</think>Nothing."))])

    @property
    def _llm_type(self) -> str:
        return "foreign"


class ForeignStream(Foreign):
    """The same, streamed."""

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        for piece in ("<thi", "nk>Goo", "se!</th", "ink>\n\nNoth", "ing."):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))


class ForeignAsync(Foreign):
    """The same, streamed for async callers alone."""

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for piece in ("<think>Goose!", "</think>", "Nothing."):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))


@pytest.mark.parametrize("kind", [Foreign, ForeignStream, ForeignAsync])
async def test_a_foreign_models_thoughts_are_heard_by_nobody(kind: type[Foreign]) -> None:
    model = separated(kind())
    whole = await model.ainvoke("Where?")
    assert (whole.text, whole.additional_kwargs[REASONING]) == ("Nothing.", "Goose!")
    said = [chunk.text async for chunk in model.astream("Where?")]
    assert "".join(said) == "Nothing."
    if kind is not ForeignAsync:
        assert "".join(chunk.text for chunk in model.stream("Where?")) == "Nothing."


async def test_no_thought_reaches_a_graphs_stream_or_the_next_prompt() -> None:
    inner = ScriptedChatModel(replies=["<think>The goose has the jewel.</think>\n\nNothing, Watson."])
    for model in (inner, ForeignStream()):
        graph = role_graph("sherlock-holmes", model=model)
        asked: Any = {"messages": [HumanMessage("Where?")]}
        parts: Any = graph.astream(asked, stream_mode="messages", version="v2")
        words = "".join([part["data"][0].text async for part in parts])
        assert "oose" not in words
        assert "Nothing" in words
        chat = RoleChatModel("sherlock-holmes", model=model)
        assert "oose" not in "".join(chunk.text for chunk in chat.stream("Where?"))
    once: Any = {"messages": [HumanMessage("Where?")]}
    twice: Any = {"messages": [*graph.invoke(once)["messages"], HumanMessage("Sure?")]}
    role_graph("sherlock-holmes", model=inner).invoke(twice)
    assert "goose" not in str([message.content for message in inner.calls[-1]])


def test_a_thought_in_a_clients_history_is_not_sent_back() -> None:
    inner = ScriptedChatModel(replies=["Yes."])
    history = [HumanMessage("Where?"), AIMessage("<think>goose</think>Nothing."), HumanMessage("Sure?")]
    asked: Any = {"messages": history}
    role_graph("sherlock-holmes", model=inner).invoke(asked)
    RoleChatModel("sherlock-holmes", model=inner).invoke(history)
    for call in inner.calls:
        assert "goose" not in str([message.content for message in call])
        assert "Nothing." in [message.content for message in call]


@pytest.mark.parametrize(
    "deltas",
    [
        [{"reasoning_content": "Goose"}, {"reasoning_content": "!"}, {"content": "Nothing."}],
        [{"reasoning": "Goose!"}, {"content": "Noth"}, {"content": "ing."}],
        [{"content": "<think>Goose!</think>\n\nNothing."}],
        [{"content": "<th"}, {"content": "ink>Goose!</"}, {"content": "think>Nothing."}],
    ],
)
def test_every_form_of_a_servers_reasoning_is_apart(deltas: list[dict[str, str]]) -> None:
    events = [
        {"index": 0, "delta": delta, "finish_reason": "stop" if delta is deltas[-1] else None}
        for delta in deltas
    ]
    body = "".join(f"data: {json.dumps({**_HEAD, 'choices': [event]})}\n\n" for event in events)
    with serving(Answer(body=f"{body}data: [DONE]\n\n", content_type=SSE)) as server:
        model = get_model("openai:reasoner", base_url=server.url)
        streamed: AIMessageChunk | None = None
        for chunk in model.stream("Where?"):
            assert isinstance(chunk, AIMessageChunk)
            streamed = chunk if streamed is None else streamed + chunk
        assert streamed is not None
    message = {"role": "assistant", "content": ""}
    for delta in deltas:
        message |= {name: message.get(name, "") + text for name, text in delta.items()}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    with serving(Answer(body=json.dumps({**_HEAD, "choices": [choice]}))) as server:
        model = get_model("openai:reasoner", base_url=server.url)
        whole = model.invoke("Where?")
        awaited = asyncio.run(model.ainvoke("Where?"))
    for answer in (streamed, whole, awaited):
        assert (answer.text, answer.additional_kwargs[REASONING]) == ("Nothing.", "Goose!")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Goose", "! </th", "ink>\n\nNoth", "ing."), "Nothing."),
        (("Noth", "ing."), "Nothing."),
        (("<think>Goose!</think>", "Nothing."), "Nothing."),
    ],
)
def test_reasoning_that_the_prompt_has_opened_is_held_back(words: tuple[str, ...], said: str) -> None:
    with serving(Answer(body=stream_of(*words, end=finished()), content_type=SSE)) as server:
        model = get_model("openai:deepseek-r1-distill-8b", base_url=server.url)
        assert "".join(chunk.text for chunk in model.stream("Where?")) == said
        other = get_model("openai:unheard-of", base_url=server.url)
        list(other.stream("Where?"))
        assert "".join(chunk.text for chunk in other.stream("Where?")) == said


def test_opened_reasoning_may_mention_its_own_mark() -> None:
    words = ("I must not write <think> tags. ", "Goose!</think>", "Nothing.")
    with serving(Answer(body=stream_of(*words, end=finished()), content_type=SSE)) as server:
        model = get_model("openai:qwen3-4b-thinking-2507", base_url=server.url)
        assert "".join(chunk.text for chunk in model.stream("Where?")) == "Nothing."


def test_reasoning_that_was_cut_is_no_answer_and_a_stray_mark_delays_one_answer() -> None:
    cut = stream_of("The goose ", "has it", end=finished("length"))
    with serving(Answer(body=cut, content_type=SSE)) as server:
        model = get_model("openai:deepseek-r1", base_url=server.url)
        assert "".join(chunk.text for chunk in model.stream("Where?")) == ""
    plain = stream_of("Noth", "ing.", end=finished())
    with serving(Answer(body=plain, content_type=SSE)) as server:
        other: Any = get_model("openai:other", base_url=server.url)
        other._opens = True
        assert [chunk.text for chunk in other.stream("Where?") if chunk.text] == ["Nothing."]
        assert [chunk.text for chunk in other.stream("Where?") if chunk.text] == ["Noth", "ing."]


def test_the_switch_is_sent_in_the_words_of_servers() -> None:
    own: Any = get_model("openai:qwen3", base_url="http://127.0.0.1:1/v1", thinking="off")
    payload = own._get_request_payload([HumanMessage("Hi")])
    assert payload["reasoning_effort"] == "none"
    assert payload["extra_body"]["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    unset: Any = get_model("openai:qwen3", base_url="http://127.0.0.1:1/v1")
    assert not {"reasoning_effort", "extra_body"} & unset._get_request_payload([HumanMessage("Hi")]).keys()
    with pytest.raises(RoleLLMError, match="takes off, low, medium, high as thinking"):
        get_model("openai:qwen3", base_url="http://127.0.0.1:1/v1", thinking="much")


def test_the_command_line_sets_how_much_is_thought() -> None:
    body = stream_of("Good day.", end=finished())
    with serving(Answer(body=body, content_type=SSE)) as server:
        options = ("--model", "openai:qwen3", "--base-url", server.url)
        said = rolellm("say", "sherlock-holmes", "Hello", *options, "--thinking", "low")
        assert said.stdout.strip() == "Good day."
        rolellm("scene", "run", "last-booth", "--turns", "1", *options, "--thinking", "off")
    assert [request["reasoning_effort"] for request in server.requests[:2]] == ["low", "none"]
    refused = rolellm("say", "sherlock-holmes", "Hello", "--thinking", "low", "--model", "scripted:Hi")
    assert refused.returncode == 2
    assert "Models of scripted take no 'thinking'" in refused.stderr
