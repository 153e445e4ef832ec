"""Calls of a model: counted, within a budget, waiting where a server asks for it, in a form or in words."""

import asyncio
import json
from typing import Any

import pytest
from helpers.broken_servers import Answer, api_error, serving
from helpers.failing import refused
from helpers.oracle import Oracle
from langchain_core.messages import AIMessage, HumanMessage

from rolellm_agents.generation.questions import question_form, read_questions
from rolellm_agents.models.catalog import get_model
from rolellm_agents.runs.backoff import Backoff
from rolellm_agents.runs.budget import Budget, Tokens
from rolellm_graphs.runs.items import prepared
from rolellm_graphs.runs.model_calls import BudgetSpentError, ModelCalls, with_settings

FORM = question_form(2, 3)
GOOD = json.dumps({"questions": [{"question": "Ada, who are you?", "line": 1, "confidence": "high"}]})


class Clock:
    """Time that only waiting moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.told: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

    def backoff(self) -> Backoff:
        return Backoff(clock=lambda: self.now, sleep=self.sleep, on_wait=self.told.append)


def calls_of(
    model: Any, *, at_once: int = 4, budget: Budget | None = None, clock: Clock | None = None
) -> ModelCalls:
    return ModelCalls(
        model, at_once=at_once, budget=budget or Budget(), backoff=(clock or Clock()).backoff()
    )


ASKED = [HumanMessage("Who are you?")]


async def test_a_rate_limit_is_waited_out_and_holds_up_everybody_once() -> None:
    clock = Clock()
    model = Oracle(failures=[refused(429, retry_after="7")])
    calls = calls_of(model, clock=clock)
    replies = await asyncio.gather(*(calls.say([HumanMessage(f"Say {n}.")], seed=n) for n in range(6)))
    assert len(replies) == 6
    assert clock.now == pytest.approx(7)
    assert clock.told == [7]
    assert len(model.calls) == 7


async def test_what_waiting_does_not_mend_is_raised_at_once() -> None:
    clock = Clock()
    model = Oracle(failures=[refused(401)])
    with pytest.raises(RuntimeError, match="refused"):
        await calls_of(model, clock=clock).say(ASKED, seed=0)
    assert (clock.now, len(model.calls)) == (0, 1)


async def test_patience_ends() -> None:
    clock = Clock()
    model = Oracle(failures=[refused(429)] * 20)
    with pytest.raises(RuntimeError, match="refused"):
        await calls_of(model, clock=clock).say(ASKED, seed=0)
    assert len(model.calls) == 8
    assert clock.now < 300


async def test_a_budget_is_never_overdrawn_by_those_who_ask_at_the_same_time() -> None:
    budget = Budget(most_tokens=300)
    calls = calls_of(Oracle(max_tokens=60), budget=budget)
    answers = await asyncio.gather(*(calls.say(ASKED, seed=n) for n in range(50)), return_exceptions=True)
    spent = [answer for answer in answers if isinstance(answer, BudgetSpentError)]
    assert 0 < len(spent) < 50
    assert budget.spent.total <= 300
    assert budget.spent.written > 20


async def test_a_failure_costs_nothing_that_is_known_of() -> None:
    budget = Budget(most_tokens=200)
    model = Oracle(failures=[refused(401)] * 10, max_tokens=60)
    calls = calls_of(model, budget=budget)
    for _ in range(10):
        with pytest.raises(RuntimeError):
            await calls.say(ASKED, seed=0)
    assert budget.spent == Tokens()
    assert (await calls.say(ASKED, seed=0)).text


async def test_no_more_are_asked_at_once_than_allowed() -> None:
    model = Oracle(seconds=0.01)
    await asyncio.gather(*(calls_of(model, at_once=3).say(ASKED, seed=n) for n in range(1)))
    calls = calls_of(model, at_once=3)
    await asyncio.gather(*(calls.say(ASKED, seed=n) for n in range(12)))
    assert model.most_at_once[1] == 3


async def test_a_model_without_forms_is_asked_in_words() -> None:
    model = Oracle()
    reply = await calls_of(model).fill([HumanMessage("Answer as JSON.")], FORM, seed=3, at_least=100)
    assert len(read_questions(reply.text, most=3, lines=3)) == 3
    assert reply.tokens.written == len(reply.text.split())


def test_settings_are_given_to_models_that_know_them() -> None:
    model = Oracle()
    changed: Any = with_settings(model, seed=7, max_tokens=90, colour=1)
    assert (changed.seed, changed.max_tokens) == (7, 90)
    assert model.seed is None
    assert with_settings(model) is model


def completion(content: str, reason: str = "stop") -> Answer:
    message = {"role": "assistant", "content": content}
    return Answer(
        body=json.dumps(
            {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
            }
        )
    )


def endpoint(url: str) -> Any:
    return get_model("openai:m", base_url=url, max_tokens=50)


@pytest.mark.parametrize(
    ("answer", "count", "unfinished"),
    [
        (completion(GOOD), 1, False),
        (completion(f"Sure!\n```json\n{GOOD}\n```"), 1, False),
        (completion(GOOD[:-10], "length"), 1, True),
        (completion("I would ask about the lamp."), 0, False),
    ],
)
async def test_a_server_is_told_the_form_and_its_answer_read_whatever_it_is(
    answer: Answer, count: int, unfinished: bool
) -> None:
    with serving(answer) as server:
        reply = await calls_of(endpoint(server.url)).fill(ASKED, FORM, seed=5, at_least=200)
    assert len(read_questions(reply.text, most=3, lines=3)) == count
    assert reply.unfinished == unfinished
    assert reply.tokens == Tokens(11, 5)
    (sent,) = server.requests
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["schema"]["properties"]["questions"]["maxItems"] == 2
    assert (sent["seed"], sent["max_tokens"]) == (5, 200)


async def test_a_server_that_knows_no_forms_is_asked_in_words_from_then_on() -> None:
    bodies: list[dict[str, Any]] = []

    class Plain(Oracle):
        def with_structured_output(self, schema: Any = None, **kwargs: Any) -> Any:
            from langchain_core.runnables import RunnableLambda

            async def refuse(_: Any) -> Any:
                bodies.append(schema)
                raise refused(400)

            return RunnableLambda(lambda _: None, afunc=refuse)

    calls = calls_of(Plain())
    for _ in range(3):
        assert (await calls.fill([HumanMessage("As JSON.")], FORM, seed=0, at_least=10)).text
    assert len(bodies) == 1
    failing = calls_of(Plain(failures=[refused(400)]))
    with pytest.raises(RuntimeError):
        await failing.fill([HumanMessage("As JSON.")], FORM, seed=0, at_least=10)
    assert (await failing.fill([HumanMessage("As JSON.")], FORM, seed=0, at_least=10)).text
    assert len(bodies) == 3, "a request that was refused without a form, too, says nothing of forms"


async def test_what_a_server_refuses_is_told_by_its_status() -> None:
    with (
        serving(api_error(429, "Slow down", Retry_After="86400")) as server,
        pytest.raises(Exception, match="Slow down") as told,
    ):
        await calls_of(endpoint(server.url)).say(ASKED, seed=0)
    assert getattr(told.value, "status_code", None) == 429


async def test_a_form_that_was_taken_for_a_tool_is_read_from_the_tool() -> None:
    from langchain_core.runnables import RunnableLambda

    class Tooled(Oracle):
        def with_structured_output(self, schema: Any = None, **kwargs: Any) -> Any:
            call = {"name": "questions", "args": json.loads(GOOD), "id": "1"}
            return RunnableLambda(lambda _: {"raw": AIMessage("", tool_calls=[call]), "parsed": None})

    reply = await calls_of(Tooled()).fill(ASKED, FORM, seed=0, at_least=10)
    assert len(read_questions(reply.text, most=3, lines=3)) == 1
    assert reply.tokens.read > 0, "counted by an estimate"


def test_only_the_embedded_model_is_given_room_for_all_at_once() -> None:
    embedded: Any = get_model("llamacpp:smollm2")
    assert getattr(prepared(embedded, 8), "sequences", None) == 8
    assert getattr(prepared(embedded, 200), "sequences", None) == 16
    assert embedded.sequences == 0
    own: Any = get_model("llamacpp:smollm2", sequences=2)
    assert prepared(own, 8) is own
    oracle = Oracle()
    assert prepared(oracle, 8) is oracle
