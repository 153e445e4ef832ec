"""Runs benchmarks of others: systems answer tasks, and a judge's model judges the answers that need it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.evaluation.suite.scoring import (
    choice_form,
    chosen_letters,
    contained_share,
    fact_question,
    option_score,
    statement_question,
)
from rolellm_agents.evaluation.suite.tasks import (
    AgreesWith,
    Contains,
    GradedBy,
    OneOf,
    RatedAs,
    SimulatedUser,
    SuiteTask,
    task_messages,
    user_prompt,
)
from rolellm_agents.judging import ConversationTurn, Judged
from rolellm_agents.judging.asking import JudgeQuestion
from rolellm_agents.judging.grading import grade_question
from rolellm_agents.judging.rubrics import load_rubric
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.folder import open_run
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of, seed_of
from rolellm_graphs.evaluate.answering import AnsweringSystem
from rolellm_graphs.judge.reply_scoring import ReplyScoring
from rolellm_graphs.runs.items import Generation, RunCallbacks, RunLimits, prepared
from rolellm_graphs.runs.model_calls import ModelCalls, ModelReply

Choosing = Literal["letter", "likelihood"]
"""How a system chooses among options: it names a letter, or the option's text that it finds likeliest."""
_CHOICE_TOKENS: Final = 24
_FREE: Final = {"tokens": {"read": 0, "written": 0}, "seconds": 0.0}
"""The cost of an item without a call."""


@dataclass(frozen=True, kw_only=True)
class SuiteRequest:
    """The settings of a suite's run."""

    tasks: tuple[SuiteTask, ...]
    """With unique keys."""
    systems: tuple[AnsweringSystem, ...]
    judge: AnsweringSystem | None = None
    """The judging model; None if no task needs a judge. Its strategy is not used."""
    user: AnsweringSystem | None = None
    """The model that speaks as simulated users; the judging model when None."""
    choosing: Choosing = "letter"
    seed: int = 0


@dataclass(frozen=True)
class SuiteOutcome:
    """What a suite's run measured."""

    scores: Mapping[str, Mapping[str, float | None]]
    """For each system, the score of each task by its key; None if the judge gave none."""
    tokens: Tokens
    """Of all answers and judgements."""
    seconds: float
    """The sum of all calls' durations."""


async def run_suite(
    request: SuiteRequest,
    *,
    folder: Path,
    limits: RunLimits | None = None,
    callbacks: RunCallbacks | None = None,
) -> SuiteOutcome:
    """Let the systems answer all tasks, and judge the answers. A stopped run resumes in its folder.

    Raises:
        ModelError: a model cannot be loaded or fails; finished items are kept.
        StorageError: the folder cannot be written, or contains another run.
    """
    limits, callbacks = limits or RunLimits(), callbacks or RunCallbacks()
    judged = [task for task in request.tasks if task.needs_judge] if request.judge else []
    keys = [f"{one.name}/{task.key}" for one in request.systems for task in request.tasks]
    keys += [f"judged/{one.name}/{task.key}" for one in request.systems for task in judged]
    with open_run(folder, _config(request), in_memory=False) as run:
        finished = FinishedItems(run, lambda: keys)
        work = _SuiteWork(request, finished, keys, limits, callbacks)
        for system in request.systems:
            await work.answer(system)
        if request.judge:
            await work.judge(request.judge, judged)
        items = {key: finished.get(number) for number, key in enumerate(keys)}
        run.finish({"items": len(keys)})
    return SuiteOutcome(_scores(request, items), finished.tokens, finished.seconds)


class _SuiteWork:
    """The items of one start of a run."""

    def __init__(
        self,
        request: SuiteRequest,
        finished: FinishedItems,
        keys: Sequence[str],
        limits: RunLimits,
        callbacks: RunCallbacks,
    ) -> None:
        self._request = request
        self._finished = finished
        self._keys = keys
        self._numbers = {key: number for number, key in enumerate(keys)}
        self._limits = limits
        self._callbacks = callbacks

    async def answer(self, system: AnsweringSystem) -> None:
        """Let a system answer all tasks."""
        model = prepared(system.model, self._limits.at_once).model_copy()
        scoring = self._scoring(system) if self._request.choosing == "likelihood" else None

        async def make(task: SuiteTask, calls: ModelCalls) -> dict[str, Any]:
            if scoring is not None and isinstance(task.expected, OneOf):
                choice = await _likeliest(task, task.expected, system.strategy, scoring)
                return {"choice": choice, **_FREE}
            if task.user is not None:
                return await self._conversation(task, task.user, system.strategy, calls)
            messages = await asyncio.to_thread(task_messages, task, system.strategy)
            seed = seed_of(self._request.seed, task.key)
            if isinstance(task.expected, OneOf):
                form = choice_form(task.expected)
                reply = await calls.fill(messages, form, seed=seed, at_least=_CHOICE_TOKENS)
                return {"choice": chosen_letters(reply.text, task.expected.options), **_made(reply)}
            return _made(await calls.say(messages, seed=seed))

        by_persona = sorted(self._request.tasks, key=lambda task: task.cluster)
        await self._make_all(
            system.name, [(f"{system.name}/{one.key}", one) for one in by_persona], model, make
        )

    async def _conversation(
        self, task: SuiteTask, user: SimulatedUser, strategy: str, calls: ModelCalls
    ) -> dict[str, Any]:
        """Let a system talk to a simulated user; the item has the turns before the last answer."""
        replies: list[ModelReply] = []
        for number in range(user.rounds):
            seed = seed_of(self._request.seed, f"{task.key}/{number}")
            asked = await self._user_calls.say([HumanMessage(user_prompt(task, user))], seed=seed)
            task = _with_turn(task, "user", asked)
            messages = await asyncio.to_thread(task_messages, task, strategy)
            answer = await calls.say(messages, seed=seed)
            replies += [asked, answer]
            if number < user.rounds - 1:
                task = _with_turn(task, "persona", answer)
        turns = [[turn.speaker, turn.text] for turn in task.turns]
        return {**_made(replies[-1]), **_costs(replies), "turns": turns}

    @cached_property
    def _user_calls(self) -> ModelCalls:
        """The calls of the model that speaks as users, within the run's limits."""
        speaker = self._request.user or self._request.judge
        if speaker is None:
            raise ValueError("tasks with a simulated user need a user's model or a judge")
        model = prepared(speaker.model, self._limits.at_once).model_copy()
        return Generation(self._finished, model, self._limits, self._callbacks).calls

    async def judge(self, judge: AnsweringSystem, tasks: Sequence[SuiteTask]) -> None:
        """Judge the answers of all systems."""
        model = prepared(judge.model, self._limits.at_once).model_copy()
        for system in self._request.systems:

            async def make(
                task: SuiteTask, calls: ModelCalls, *, name: str = system.name
            ) -> dict[str, Any]:
                answer = self._finished.get(self._numbers[f"{name}/{task.key}"])
                if task.user is not None:
                    task = replace(task, turns=tuple(ConversationTurn(*one) for one in answer["turns"]))
                return await _judgement(task, answer["reply"], calls, self._request.seed)

            keys = [(f"judged/{system.name}/{task.key}", task) for task in tasks]
            await self._make_all(judge.name, keys, model, make)

    async def _make_all(
        self,
        name: str,
        works: Sequence[tuple[str, SuiteTask]],
        model: BaseChatModel,
        make: Callable[[SuiteTask, ModelCalls], Awaitable[dict[str, Any]]],
    ) -> None:
        generation = Generation(self._finished, model, self._limits, self._callbacks)
        generation.expect(len(self._keys))
        left = [(key, task) for key, task in works if self._numbers[key] not in self._finished]

        async def work(one: tuple[str, SuiteTask]) -> None:
            key, task = one
            await generation.item(self._numbers[key], key, lambda: make(task, generation.calls))

        await generation.work_through(iter(left), work)
        if generation.failures.count:
            raise ModelError(
                f"{generation.failures.count} calls of {name} failed; run the command again to try them "
                f"once more. The first failure: {generation.failures.first}"
            )

    def _scoring(self, system: AnsweringSystem) -> ReplyScoring:
        return ReplyScoring(system.model, model_name=system.name, at_once=self._limits.at_once)


async def _likeliest(task: SuiteTask, expected: OneOf, strategy: str, scoring: ReplyScoring) -> list[str]:
    """The option whose text has the highest mean log-probability per token."""
    messages = await asyncio.to_thread(task_messages, task, strategy, with_options=False)
    means = {}
    for letter, text in expected.options.items():
        scores = await scoring.score(messages, text or letter)
        means[letter] = sum(scores) / len(scores)
    return [max(means, key=lambda letter: means[letter])]


async def _judgement(task: SuiteTask, answer: str, calls: ModelCalls, seed: int) -> dict[str, Any]:
    own_seed = seed_of(seed, f"judge/{task.key}")
    match task.expected:
        case AgreesWith(facts):
            return await _agreement([fact_question(task, fact, answer) for fact in facts], calls, own_seed)
        case RatedAs() as expected if answer.strip():
            question = statement_question(task, expected, answer)
            reply = await _ask(question, calls, own_seed)
            rating = question.read(reply.text)
            return {"score": None if rating is None else expected.value(rating), **_made(reply)}
        case GradedBy(rubrics) if task.persona and answer.strip():
            judged = Judged(key=task.key, persona=task.persona, turns=task.turns, reply=answer)
            return await _grades(rubrics, judged, calls, own_seed)
    return {"score": None, "reason": "The answer is empty.", **_FREE}


async def _grades(rubrics: Sequence[str], judged: Judged, calls: ModelCalls, seed: int) -> dict[str, Any]:
    """The mean of the grades by several rubrics; None if one of them cannot be read."""
    replies: list[ModelReply] = []
    grades: list[float] = []
    reasons: list[str] = []
    for rubric in rubrics:
        question = grade_question(load_rubric(rubric, judged.persona.language), judged)
        replies.append(await _ask(question, calls, seed))
        read = question.read(replies[-1].text)
        if read is not None:
            grades.append(float(read.grade))
            reasons.append(read.reason)
    complete = len(grades) == len(rubrics)
    return {
        "score": sum(grades) / len(grades) if complete else None,
        "reason": " ".join(reasons),
        "reply": replies[-1].text.strip(),
        **_costs(replies),
    }


async def _agreement(
    questions: Sequence[JudgeQuestion[bool]], calls: ModelCalls, seed: int
) -> dict[str, Any]:
    """1 if the answer agrees with all facts, 0 with the first that it contradicts."""
    score: float | None = 1.0
    replies: list[ModelReply] = []
    for question in questions:
        replies.append(await _ask(question, calls, seed))
        agrees = question.read(replies[-1].text)
        score = None if agrees is None else float(agrees)
        if not agrees:
            break
    return {
        "score": score,
        "reply": replies[-1].text,
        **_costs(replies),
    }


async def _ask(question: JudgeQuestion[Any], calls: ModelCalls, seed: int) -> ModelReply:
    return await calls.fill(
        [HumanMessage(question.text)], dict(question.form), seed=seed, at_least=question.tokens
    )


def _costs(replies: Sequence[ModelReply]) -> dict[str, Any]:
    return {
        "tokens": {
            "read": sum(one.tokens.read for one in replies),
            "written": sum(one.tokens.written for one in replies),
        },
        "seconds": round(sum(one.seconds for one in replies), 3),
    }


def _with_turn(task: SuiteTask, speaker: Literal["user", "persona"], reply: ModelReply) -> SuiteTask:
    text = reply.text.strip() or "…"
    return replace(task, turns=(*task.turns, ConversationTurn(speaker, text)))


def _made(reply: ModelReply) -> dict[str, Any]:
    return {"reply": reply.text.strip(), **_costs([reply])}


def _scores(
    request: SuiteRequest, items: Mapping[str, Mapping[str, Any] | None]
) -> dict[str, dict[str, float | None]]:
    return {
        system.name: {
            task.key: _score(
                task, items[f"{system.name}/{task.key}"], items.get(f"judged/{system.name}/{task.key}")
            )
            for task in request.tasks
        }
        for system in request.systems
    }


def _score(
    task: SuiteTask, answer: Mapping[str, Any] | None, judged: Mapping[str, Any] | None
) -> float | None:
    match task.expected:
        case OneOf() as expected:
            return option_score(answer["choice"], expected) if answer else None
        case Contains() as expected:
            return contained_share(answer["reply"], expected) if answer else None
    return judged["score"] if judged else None


def _config(request: SuiteRequest) -> dict[str, Any]:
    tasks = "\n".join(f"{one.key} {one.turns} {one.expected} {one.user}" for one in request.tasks)
    personas = "\n".join(one.persona.model_dump_json() for one in request.tasks if one.persona)
    judge, user = request.judge, request.user
    return {
        "evaluation": "suite",
        "systems": {
            one.name: {"strategy": one.strategy, **describe_sampling(one.model)} for one in request.systems
        },
        "judge": {judge.name: describe_sampling(judge.model)} if judge else {},
        **({"user": {user.name: describe_sampling(user.model)}} if user else {}),
        "choosing": request.choosing,
        "tasks": digest_of(tasks),
        "personas": digest_of(personas),
        "seed": request.seed,
    }
