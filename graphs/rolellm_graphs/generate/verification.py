"""Verified generation: answers are checked, and repaired once or labelled: check → repair → check.

The input is any data set of questions and answers; the answers of Context-Instruct have the lines that they
are based on.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.generation.samples import SampleRow
from rolellm_agents.generation.trimming import cleaned, trim_to_last_sentence
from rolellm_agents.generation.verification import (
    Answered,
    CheckResult,
    answers_of,
    faults_of,
    item_of,
    verified_rows,
)
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.reply_checks.labels import answer_labels
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of, seed_of
from rolellm_graphs.generate.answer_checks import AnswerCheck
from rolellm_graphs.generate.run import GenerationOutcome, GenerationPlan, run_plan
from rolellm_graphs.runs.items import Generation, RunCallbacks, RunLimits
from rolellm_graphs.runs.model_calls import ModelCalls, ModelReply

STRATEGY: Final = "system"
"""The strategy with which the character answers again."""
_USUAL = Tokens(900, 120)
"""Approximate tokens of one answer's verification."""
_REPAIR: Final = "verify-repair"


@dataclass(frozen=True, kw_only=True)
class VerificationRequest:
    """The settings of a verification run."""

    samples: tuple[Sample, ...]
    personas: Mapping[int, Persona]
    """By the sample's index; samples without a persona are skipped."""
    checks: tuple[AnswerCheck, ...]
    """At least one; an answer passes if it passes all of them."""
    repair: bool = True
    """Whether the model answers again, once, when an answer has a fault."""
    seed: int = 0


async def verify(
    request: VerificationRequest,
    model: BaseChatModel,
    *,
    model_name: str,
    folder: Path,
    limits: RunLimits | None = None,
    callbacks: RunCallbacks | None = None,
) -> GenerationOutcome:
    """Verify the answers of samples, and repair those with a fault.

    The model judges the answers, and plays the personas that answer again. A stopped run resumes in its
    folder.

    Raises:
        RoleBenchError: no sample has a persona.
        SettingsError: a cost limit without prices.
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: the model cannot be loaded.
    """
    works = _Works(request)
    plan = GenerationPlan(
        config=_config(request, works, model_name, model),
        item_keys=works.keys,
        work=partial(_verify_all, request, works),
        rows=partial(_rows, works),
        parts=("samples", "left_out"),
    )
    return await run_plan(plan, model, folder, limits or RunLimits(), callbacks or RunCallbacks())


def verification_guess(request: VerificationRequest) -> tuple[Callable[[], Iterator[str]], Tokens]:
    """The keys of all items, and the estimated tokens of one item.

    Raises:
        RoleBenchError: no sample has a persona.
    """
    return _Works(request).keys, _USUAL


class AnswerVerification:
    """Checks answers, and lets the personas answer again if an answer has a fault."""

    def __init__(
        self, checks: Sequence[AnswerCheck], calls: ModelCalls, *, repair: bool, seed: int
    ) -> None:
        """Use these checks. `repair` says whether personas answer again."""
        self._checks = checks
        self._calls = calls
        self._repair = repair
        self._seed = seed

    async def verified(self, answered: Answered) -> dict[str, Any]:
        """The item to store: the answer with its checks, or the repaired answer with its own.

        Raises:
            BudgetSpentError: the remaining budget is too small.
            Exception: the model's error.
        """
        results = await self._checked(answered)
        if not self._repair or not faults_of(results):
            return {**item_of(answered, results, None, []), **_cost(results)}
        reply = await self._calls.say(
            repair_messages(answered, results), seed=seed_of(self._seed, f"{answered.key}/repair")
        )
        text = trim_to_last_sentence(cleaned(reply.text, answered.persona), at_limit=reply.unfinished).text
        if answer_labels(
            text, answered.persona, question=answered.question, templates=_templates(answered)
        ):
            return {**item_of(answered, results, None, []), **_cost([*results, reply])}
        again = await self._checked(replace(answered, answer=text, key=f"{answered.key}/repair"))
        return {**item_of(answered, results, text, again), **_cost([*results, reply, *again])}

    async def _checked(self, answered: Answered) -> list[CheckResult]:
        seed = seed_of(self._seed, answered.key)
        return [one for check in self._checks for one in await check.check(answered, self._calls, seed)]


def repair_messages(answered: Answered, results: Sequence[CheckResult]) -> list[BaseMessage]:
    """The messages with which the persona answers again: its first answer, and what is wrong with it."""
    persona = answered.persona
    prompting = Prompting(persona, STRATEGY, user=DEFAULT_USER)
    reason = next((one.reason for one in results if one.label is not None and one.reason), "")
    request = load_prompt(_REPAIR, persona.language).fill(
        name=persona.name,
        reason=reason,
        lines=answered.passage or persona.description,
        question=answered.question,
    )
    asked = [HumanMessage(answered.question), AIMessage(answered.answer)]
    return prompting.compose(asked, [], request)


def _templates(answered: Answered) -> list[str]:
    return [load_prompt(name, answered.persona.language).text for name in ("system", _REPAIR)]


@dataclass(frozen=True)
class _Work:
    """One answer, with its index in the plan."""

    number: int
    answered: Answered


class _Works:
    """All answers of a run; those of one persona are consecutive, since they share a prompt."""

    def __init__(self, request: VerificationRequest) -> None:
        known = [place for place in range(len(request.samples)) if place in request.personas]
        if not known:
            raise RoleBenchError(
                "None of the rows belongs to a persona; name the persona's file with --persona, or create "
                "one with “rolellm persona build”."
            )
        ready: dict[str, Persona] = {}
        seen: Counter[str] = Counter()
        self.samples: list[Sample] = []
        self.answers: list[list[_Work]] = []
        number = 0
        for place in sorted(known, key=lambda place: request.personas[place].id):
            sample, persona = request.samples[place], request.personas[place]
            filled = ready.setdefault(persona.id, with_macros(persona, DEFAULT_USER))
            texts = "\0".join((sample.question, *sample.references))
            base = f"{persona.id}/{digest_of(texts)}"
            seen[base] += 1
            answers = answers_of(sample, filled, f"{base}/{seen[base]}")
            self.samples.append(sample)
            self.answers.append([_Work(number + index, one) for index, one in enumerate(answers)])
            number += len(answers)

    def __iter__(self) -> Iterator[_Work]:
        return (work for works in self.answers for work in works)

    def keys(self) -> Iterator[str]:
        return (work.answered.key for work in self)


async def _verify_all(request: VerificationRequest, works: _Works, generation: Generation) -> None:
    verification = AnswerVerification(
        request.checks, generation.calls, repair=request.repair, seed=request.seed
    )

    async def verify_one(work: _Work) -> None:
        await generation.item(work.number, work.answered.key, lambda: verification.verified(work.answered))

    await generation.work_through(iter(works), verify_one)


def _cost(parts: Sequence[CheckResult | ModelReply]) -> dict[str, Any]:
    return {
        "tokens": {
            "read": sum(one.tokens.read for one in parts),
            "written": sum(one.tokens.written for one in parts),
        },
        "seconds": round(sum(one.seconds for one in parts), 3),
    }


def _rows(works: _Works, finished: FinishedItems) -> Iterator[SampleRow]:
    for sample, answers in zip(works.samples, works.answers, strict=True):
        yield from verified_rows(sample, [finished.get(work.number) for work in answers])


def _config(
    request: VerificationRequest, works: _Works, model_name: str, model: BaseChatModel
) -> Mapping[str, Any]:
    personas = {one.id: one for one in request.personas.values()}
    repair = [load_prompt(_REPAIR, language).name for language in ("en", "zh")]
    return {
        "generator": "verification",
        "personas": {one.id: digest_of(one.model_dump_json()) for one in personas.values()},
        "answers": digest_of("\n".join(works.keys())),
        "checks": {name: value for check in request.checks for name, value in check.settings.items()},
        "repair": repair if request.repair else [],
        "seed": request.seed,
        "model": model_name,
        "sampling": describe_sampling(model),
    }
