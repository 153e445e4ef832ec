"""A server that is away, refuses, or talks nonsense costs the person one sentence, and nothing said."""

import re
from collections.abc import Sequence

import pytest
from helpers.broken_servers import (
    SSE,
    Answer,
    api_error,
    finished,
    never_answering,
    not_listening,
    serving,
    stream_of,
)
from helpers.texts import is_one_sentence
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel

from rolellm_agents.errors import MessageError, ModelError
from rolellm_agents.models.catalog import describe_model, get_model
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import Event, MessageDone, TurnFailed, Waiting

NAME = "openai:some-model"
TOO_LONG = "This model's maximum context length is 4096 tokens, your messages have 5000"

REFUSALS = {
    "no such key": (
        api_error(401, "Incorrect API key provided: sk-secret"),
        "{url} refuses the API key for openai:some-model (401); set the right one in OPENAI_API_KEY, or in "
        "the variable that api_key_env names in models.toml.",
    ),
    "key without rights": (
        api_error(403, "Country not supported"),
        "{url} refuses the API key for openai:some-model (403); set the right one in OPENAI_API_KEY, or in "
        "the variable that api_key_env names in models.toml.",
    ),
    "no such model": (
        api_error(404, "The model `some-model` does not exist"),
        "{url} knows no openai:some-model (404: The model `some-model` does not exist); check the model's "
        "name and the base URL.",
    ),
    "no such page": (
        Answer(404, "<html><body>Not Found</body></html>", "text/html"),
        "{url} knows no openai:some-model (404); check the model's name and the base URL.",
    ),
    "too many requests": (
        api_error(429, "Rate limit reached", Retry_After_Ms="1"),
        "{url} takes no more requests for openai:some-model now (429); try again later.",
    ),
    "server error": (
        api_error(500, "Internal failure", Retry_After_Ms="1"),
        "{url} failed on openai:some-model (500: Internal failure); try again later.",
    ),
    "server error that would colour the terminal": (
        api_error(503, "\x1b[31mover\x1b[0mloaded\x07\nnow", Retry_After_Ms="1"),
        "{url} failed on openai:some-model (503: overloaded now); try again later.",
    ),
    "context too long": (
        api_error(400, TOO_LONG),
        f"The message is too long for openai:some-model ({TOO_LONG}); shorten it.",
    ),
    "body too long": (
        api_error(413, "context too large"),
        "The message is too long for openai:some-model (context too large); shorten it.",
    ),
}

NONSENSE = {
    "a web page": Answer(200, "<html><body><h1>It works!</h1></body></html>", "text/html"),
    "JSON of another shape": Answer(200, '{"hello": ["world"]}'),
    "a list": Answer(200, "[1, 2]"),
    "null": Answer(200, "null"),
    "no choices": Answer(200, '{"choices": []}'),
    "choices that are a number": Answer(200, '{"choices": 3}'),
    "a choice without words": Answer(200, '{"choices": [{"message": null}]}'),
    "words that are a number": Answer(
        200, '{"choices": [{"message": {"role": "assistant", "content": 5}}]}'
    ),
    "an empty body": Answer(200),
    "no content": Answer(204),
    "an empty stream": Answer(200, "", SSE),
    "a stream of lines": Answer(200, "garbage\nmore garbage: here\n\n", SSE),
    "a stream of broken JSON": Answer(200, "data: {\n\ndata: garbage\n\n", SSE),
    "a stream of a page": Answer(200, "data: <html>\n\n", SSE),
    "a stream of lists": Answer(200, "data: [1]\n\ndata: [DONE]\n\n", SSE),
    "a stream of empty choices": Answer(
        200, 'data: {"choices": [{"delta": null, "finish_reason": null}]}\n\n', SSE
    ),
}


def model_at(url: str) -> BaseChatModel:
    return get_model(NAME, base_url=url, timeout=0.3)


async def turn_at(url: str, persona: Persona) -> tuple[list[Event], Session]:
    with Transcript() as transcript:
        session = Session(persona, transcript, model=model_at(url))
        return [event async for event in session.send("Who are you?")], session


async def failed_turn_at(url: str, persona: Persona) -> str:
    """The error of a turn of which nothing came but it."""
    events, session = await turn_at(url, persona)
    failed = events[-1]
    assert isinstance(failed, TurnFailed)
    assert isinstance(failed.error, ModelError)
    assert failed.message is None
    assert said(session) == [("user", "Who are you?", "complete")]
    assert not session.answering
    return str(failed.error)


def said(session: Session) -> Sequence[tuple[str, str, str]]:
    return [(message.speaker, message.text, message.status) for message in session.messages]


def explained(url: str) -> str:
    """What is told of a call outside any session, not streamed."""
    model = model_at(url)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - the libraries raise what they like
        model.invoke("Who are you?")
    error = explain_failure(raised.value, model)
    assert isinstance(error, ModelError)
    return str(error)


@pytest.mark.parametrize(("answer", "sentence"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_refusal_is_told_in_one_sentence(
    answer: Answer, sentence: str, holmes: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving(answer) as server:
        told = await failed_turn_at(server.url, holmes)
        assert told == sentence.format(url=server.url)
        assert explained(server.url) == told
    assert is_one_sentence(told)


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE.keys())
async def test_what_is_no_reply_is_told_in_one_sentence(answer: Answer, holmes: Persona) -> None:
    with serving(answer) as server:
        for told in (await failed_turn_at(server.url, holmes), explained(server.url)):
            assert told.startswith(
                f"{server.url} answered {NAME} with something that is not an OpenAI-style reply ("
            )
            assert told.endswith("); check the base URL, which usually ends in /v1.")
            assert is_one_sentence(told)
            assert len(told) < 400


async def test_a_port_where_nobody_listens(holmes: Persona) -> None:
    with not_listening() as url:
        assert await failed_turn_at(url, holmes) == (
            f"Nothing answers at {url} for {NAME}; is the server running there?"
        )


async def test_a_server_that_never_answers(holmes: Persona) -> None:
    with never_answering() as url:
        assert await failed_turn_at(url, holmes) == (
            f"{NAME} did not answer in time at {url}; try again, or raise “timeout” in models.toml."
        )


async def test_a_server_that_redirects_in_circles(holmes: Persona) -> None:
    """Something does answer there, so “nothing answers” would send the person the wrong way."""
    with serving(Answer(307, headers={"Location": "/v1/chat/completions"})) as server:
        told = await failed_turn_at(server.url, holmes)
    assert server.url in told
    assert "Nothing answers" not in told
    assert is_one_sentence(told)


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'max_completion_tokens' is not supported with this model",
        "max_tokens is too large: 100000",
    ],
)
async def test_a_refused_parameter_is_not_told_as_a_message_too_long(message: str, holmes: Persona) -> None:
    with serving(api_error(400, message)) as server:
        told = await failed_turn_at(server.url, holmes)
    assert "The message is too long" not in told
    assert told.startswith(f"{server.url} refuses the request for {NAME} (400: ")
    assert message in told


@pytest.mark.parametrize("status", [400, 418, 422])
async def test_any_other_refusal_says_what_to_do_next(status: int, holmes: Persona) -> None:
    with serving(api_error(status, "No such voice")) as server:
        told = await failed_turn_at(server.url, holmes)
    assert told.startswith(f"{server.url} refuses the request for {NAME} ({status}: ")
    assert "No such voice" in told
    assert re.search(r"\); .+\.$", told), "there is no next step"


@pytest.mark.parametrize(("status", "tries"), [(429, 8), (500, 4), (503, 4), (529, 8)])
async def test_a_busy_server_is_asked_again_until_patience_ends(
    status: int, tries: int, holmes: Persona
) -> None:
    with serving(api_error(status, "Not now", Retry_After_Ms="1")) as server:
        await failed_turn_at(server.url, holmes)
    assert len(server.requests) == tries


GOOD_DAY = Answer(200, stream_of("Good", " day", end=finished()), SSE)


async def test_each_wait_is_an_event_and_the_answer_comes_after_it(holmes: Persona) -> None:
    refusals = [api_error(429, "Slow", Retry_After_Ms="1"), api_error(503, "Busy", Retry_After="0")]
    with serving(*refusals, GOOD_DAY) as server:
        events, session = await turn_at(server.url, holmes)
    waits = [event for event in events if isinstance(event, Waiting)]
    assert [wait.reason for wait in waits] == [
        f"{NAME} takes no more requests now (429)",
        f"{NAME} cannot answer now (503)",
    ]
    assert [wait.seconds for wait in waits] == [0.001, 0]
    assert str(waits[0]) == f"{NAME} takes no more requests now (429); trying again in 0 s."
    assert said(session)[1:] == [("sherlock-holmes", "Good day", "complete")]
    assert len(server.requests) == 3


async def test_a_wait_can_be_stopped(holmes: Persona) -> None:
    with serving(api_error(429, "Slow", Retry_After="500"), GOOD_DAY) as server, Transcript() as transcript:
        session = Session(holmes, transcript, model=model_at(server.url))
        events = session.send("Who are you?")
        async for event in events:
            if isinstance(event, Waiting):
                session.cancel()
        assert len(server.requests) == 1
        assert not session.answering


async def test_a_prompt_that_is_too_long_is_refused_at_once_whatever_the_status(holmes: Persona) -> None:
    nothing_to_leave_out = holmes.model_copy(update={"demonstrations": ()})
    with serving(api_error(500, TOO_LONG)) as server:
        await failed_turn_at(server.url, nothing_to_leave_out)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_a_refusal_for_good_is_not_asked_for_twice(status: int, holmes: Persona) -> None:
    with serving(api_error(status, "No")) as server:
        await failed_turn_at(server.url, holmes)
    assert len(server.requests) == 1


# What was said before the failure


async def test_a_whole_stream_is_a_whole_answer(holmes: Persona) -> None:
    """Without this one the next ones could pass for the wrong reason."""
    with serving(Answer(200, stream_of("Good", " day", end=finished()), SSE)) as server:
        events, session = await turn_at(server.url, holmes)
    assert isinstance(events[-1], MessageDone)
    assert said(session)[1:] == [("sherlock-holmes", "Good day", "complete")]


@pytest.mark.parametrize(
    ("answer", "pattern"),
    [
        pytest.param(
            Answer(200, stream_of("Good", " day"), SSE, missing=50), "The connection to {url} ", id="cut"
        ),
        pytest.param(
            Answer(200, stream_of("Good", " day"), SSE, silent=True),
            f"{NAME} did not answer in time at {{url}}; try again, or raise “timeout” in models\\.toml\\.$",
            id="silent",
        ),
        pytest.param(
            Answer(200, stream_of("Good", " day", end="data: {oops\n\n"), SSE),
            rf"{{url}} answered {NAME} with something that is not an OpenAI-style reply \(",
            id="garbage",
        ),
        pytest.param(
            Answer(
                200, stream_of("Good", " day", end='data: {"error": {"message": "Out of memory"}}\n\n'), SSE
            ),
            r"{url} failed on openai:some-model \(.*Out of memory\); ",
            id="error",
        ),
    ],
)
async def test_a_stream_that_fails_in_the_middle_keeps_what_was_said(
    answer: Answer, pattern: str, holmes: Persona
) -> None:
    with serving(answer) as server:
        events, session = await turn_at(server.url, holmes)
    failed = events[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.message is not None
    assert (failed.message.text, failed.message.status) == ("Good day", "failed")
    assert said(session)[1:] == [("sherlock-holmes", "Good day", "failed")]
    told = str(failed.error)
    assert re.match(pattern.format(url=re.escape(server.url)), told)
    assert "Nothing answers" not in told  # it did
    assert is_one_sentence(told)


async def test_a_failed_turn_can_be_answered_again(holmes: Persona) -> None:
    with Transcript() as transcript:
        with serving(Answer(200, stream_of("Good", " day"), SSE, missing=50)) as server:
            session = Session(holmes, transcript, model=model_at(server.url))
            assert isinstance([event async for event in session.send("Who are you?")][-1], TurnFailed)
        with serving(Answer(200, stream_of("Elementary.", end=finished()), SSE)) as server:
            again = Session(
                holmes, transcript, model=model_at(server.url), conversation=session.conversation
            )
            done = [event async for event in again.regenerate()][-1]
    assert isinstance(done, MessageDone)
    assert said(again) == [
        ("user", "Who are you?", "complete"),
        ("sherlock-holmes", "Elementary.", "complete"),
    ]


# What is sent


def test_the_request_carries_what_was_chosen() -> None:
    with serving(api_error(400, "enough")) as server:
        model = get_model(NAME, base_url=server.url, temperature=0.0, seed=7)
        with pytest.raises(Exception, match="enough"):
            model.invoke("Who are you?")
    assert server.requests == [
        {
            "messages": [{"role": "user", "content": "Who are you?"}],
            "model": "some-model",
            "temperature": 0.0,
            "seed": 7,
            "stream": False,
        }
    ]


def test_the_longest_answer_is_sent_under_the_name_that_every_server_knows() -> None:
    """Ollama takes `max_completion_tokens` in silence and goes on without a limit (ollama#7125)."""
    with serving(api_error(400, "enough")) as server:
        model = get_model(NAME, base_url=server.url, max_tokens=9)
        with pytest.raises(Exception, match="enough"):
            model.invoke("Who are you?")
    assert server.requests[0]["max_tokens"] == 9


# What is explained, and what is not


def test_an_error_that_is_ours_stays_as_it_is() -> None:
    error = MessageError("The message is empty; type some text.")
    assert explain_failure(error, ScriptedChatModel()) is error


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), OSError("x")])
def test_a_defect_of_a_model_that_is_no_server_is_not_explained_away(error: Exception) -> None:
    model_at("http://127.0.0.1:9/v1")  # loads the library whose errors are explained
    assert explain_failure(error, ScriptedChatModel()) is None


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), AssertionError("x"), MemoryError("x")])
def test_a_defect_of_ours_in_a_call_to_a_server_is_not_explained_away(error: Exception) -> None:
    assert explain_failure(error, model_at("http://127.0.0.1:9/v1")) is None


def test_whatever_a_foreign_model_raises_is_told_with_its_name() -> None:
    foreign = GenericFakeChatModel(messages=iter([]))
    told = explain_failure(KeyError("no\nsuch voice"), foreign)
    assert isinstance(told, ModelError)
    assert str(told) == (
        f"{describe_model(foreign)} failed ('no\\nsuch voice'); try again, or use another model."
    )
    silent = explain_failure(ZeroDivisionError(), foreign)
    assert "failed (ZeroDivisionError); " in str(silent)


def test_what_the_machine_cannot_do_for_a_model_of_ours_is_told() -> None:
    """torch raises it when memory is short."""
    told = explain_failure(RuntimeError("out of memory"), ScriptedChatModel())
    assert isinstance(told, ModelError)
    assert "failed (out of memory); " in str(told)
