"""A judging model: concurrent questions with structured answers; failures become verdicts."""

import asyncio
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage

from rolellm_agents.judging.asking import JudgeQuestion, Read
from rolellm_agents.judging.verdict import Status, Verdict
from rolellm_agents.models.catalog import describe_model
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.local import load_model
from rolellm_agents.runs.backoff import Backoff
from rolellm_agents.runs.budget import Budget, Tokens
from rolellm_agents.runs.seeds import seed_of
from rolellm_agents.text import one_line
from rolellm_graphs.runs.items import AT_ONCE, prepared
from rolellm_graphs.runs.model_calls import ModelCalls, ModelReply

_SHOWN = 160
"""The most characters that an error message quotes of an answer."""


@dataclass(frozen=True, kw_only=True)
class JudgeReply(Generic[Read]):
    """A model's answer to one question."""

    read: Read | None
    """None unless the status is `scored`."""
    status: Status
    trouble: str
    """The reason why there is no judgement; empty otherwise."""
    prompt: str
    tokens: Tokens
    seconds: float

    @property
    def cost(self) -> dict[str, Any]:
        """The tokens and seconds for a verdict's details."""
        tokens = {"read": self.tokens.read, "written": self.tokens.written}
        return {"tokens": tokens, "seconds": self.seconds}


class _LoopState(NamedTuple):
    """The objects that belong to one event loop."""

    loop: asyncio.AbstractEventLoop
    calls: ModelCalls
    loading: asyncio.Lock


class JudgingModel:
    """A model for any number of judges, which share its concurrency limit."""

    def __init__(
        self,
        model: BaseChatModel,
        *,
        model_name: str | None = None,
        at_once: int = AT_ONCE,
        seed: int = 0,
    ) -> None:
        """Prepare the calls.

        The text of a model without structured output is parsed. Its name in verdicts is its own when None.
        The sampling seed is used if the model supports one.
        """
        self.name = model_name or describe_model(model)
        self.model = prepared(model, at_once)
        self._at_once = at_once
        self._seed = seed
        self._state: _LoopState | None = None
        self._is_loaded = False

    async def ask(self, question: JudgeQuestion[Read], key: str) -> JudgeReply[Read]:
        """Ask a question and parse the answer.

        The answer's seed is derived from the key, which is unique.

        Raises:
            ModelError: the model cannot be loaded.
        """
        state = await self._ready()
        messages = [HumanMessage(question.text)]
        try:
            reply = await state.calls.fill(
                messages, dict(question.form), seed=seed_of(self._seed, key), at_least=question.tokens
            )
        except Exception as error:
            explained = explain_failure(error, self.model)
            if explained is None:
                raise
            return _failed(question, str(explained))
        return _answer(question, reply)

    def not_scored(self, answer: JudgeReply[Any], subject: str, measure: str, **details: Any) -> Verdict:
        """The verdict for an answer without a judgement."""
        return Verdict(
            subject=subject,
            measure=measure,
            value=None,
            status=answer.status,
            reason=answer.trouble,
            model=self.name,
            prompt=answer.prompt,
            details={**details, **answer.cost},
        )

    async def _ready(self) -> _LoopState:
        loop = asyncio.get_running_loop()
        if self._state is None or self._state.loop is not loop:
            # A semaphore belongs to one event loop.
            calls = ModelCalls(self.model, at_once=self._at_once, budget=Budget(), backoff=Backoff())
            self._state = _LoopState(loop, calls, asyncio.Lock())
        state = self._state
        async with state.loading:
            if not self._is_loaded:
                await asyncio.to_thread(load_model, self.model)
                self._is_loaded = True
        return state


def _answer(question: JudgeQuestion[Read], reply: ModelReply) -> JudgeReply[Read]:
    read = question.read(reply.text)
    trouble = ""
    if read is None:
        cut = ", which reached its limit" if reply.unfinished else ""
        said = one_line(reply.text, _SHOWN) or "nothing"
        trouble = f"No judgement can be parsed from the answer{cut}: {said}"
    return JudgeReply(
        read=read,
        status="unparsed" if read is None else "scored",
        trouble=trouble,
        prompt=question.prompt,
        tokens=reply.tokens,
        seconds=reply.seconds,
    )


def _failed(question: JudgeQuestion[Read], trouble: str) -> JudgeReply[Read]:
    return JudgeReply(
        read=None,
        status="model_error",
        trouble=trouble,
        prompt=question.prompt,
        tokens=Tokens(),
        seconds=0.0,
    )
