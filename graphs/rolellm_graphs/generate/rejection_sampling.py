"""Rejection sampling: a model answers training questions several times and learns from its best answers.

Each question keeps its reference answers, so that samples can be ranked without a judge
(`rolellm train --recipe dpo`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets import Sample
from rolellm_agents.datasets.row_personas import persona_fields
from rolellm_agents.errors import RoleBenchError, SettingsError
from rolellm_agents.generation.samples import SampleRow
from rolellm_agents.generation.trimming import cleaned, trim_to_last_sentence
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of, seed_of
from rolellm_graphs.generate.run import GenerationOutcome, GenerationPlan, run_plan
from rolellm_graphs.runs.items import Generation, RunCallbacks, RunLimits, made_by

EACH: Final = 4
"""Answers to each question."""
STRATEGY: Final = "system"
"""The strategy that models are trained with."""
_USUAL = Tokens(330, 80)
"""Approximate tokens of one call."""


@dataclass(frozen=True, kw_only=True)
class RejectionSamplingRequest:
    """The settings of a rejection sampling run."""

    samples: tuple[Sample, ...]
    personas: Mapping[str, Persona]
    """By the samples' role names; samples of other roles are skipped."""
    each: int = EACH
    seed: int = 0


async def rejection_sampling(
    request: RejectionSamplingRequest,
    model: BaseChatModel,
    *,
    model_name: str,
    folder: Path,
    limits: RunLimits | None = None,
    callbacks: RunCallbacks | None = None,
) -> GenerationOutcome:
    """Sample the missing answers of a run.

    The model plays the personas. A stopped run resumes in its folder.

    Raises:
        RoleBenchError: none of the roles is a persona.
        SettingsError: the model decodes greedily, or a cost limit without prices.
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: the model cannot be loaded.
    """
    if describe_sampling(model).get("temperature") == 0:
        raise SettingsError(
            "At temperature 0 all answers to a question are the same; set a higher --temperature."
        )
    asked = _asked(request)
    plan = GenerationPlan(
        config=_config(request, asked, model_name, model),
        item_keys=partial(_keys, request, asked),
        work=partial(_sample_all, request, asked, model_name),
        rows=partial(_rows, request, asked),
        parts=("samples",),
    )
    return await run_plan(plan, model, folder, limits or RunLimits(), callbacks or RunCallbacks())


def rejection_sampling_guess(
    request: RejectionSamplingRequest,
) -> tuple[Callable[[], Iterator[str]], Tokens]:
    """The keys of all items, and the estimated tokens of one item.

    Raises:
        RoleBenchError: none of the roles is a persona.
    """
    return partial(_keys, request, _asked(request)), _USUAL


def _asked(request: RejectionSamplingRequest) -> list[Sample]:
    """Each question once, sorted by role, because a role's prompts share their instruction."""
    once = {(one.role, one.kind, one.question): one for one in request.samples}
    known = [sample for sample in once.values() if sample.role in request.personas]
    if not known:
        raise RoleBenchError(
            "None of the questions belongs to a role that is a persona; “rolellm persona build” "
            "creates a persona."
        )
    return sorted(known, key=lambda sample: sample.role)


def _keys(request: RejectionSamplingRequest, asked: list[Sample]) -> Iterator[str]:
    for sample in asked:
        persona = request.personas[sample.role]
        question = digest_of(sample.question)
        yield from (f"{persona.id}/{sample.kind}/{question}/{number}" for number in range(request.each))


async def _sample_all(
    request: RejectionSamplingRequest, asked: list[Sample], model_name: str, generation: Generation
) -> None:
    keys = [*_keys(request, asked)]
    ready: dict[str, Prompting] = {}

    def prompt(sample: Sample) -> list[BaseMessage]:
        if sample.role not in ready:
            persona = with_macros(request.personas[sample.role], DEFAULT_USER)
            ready[sample.role] = Prompting(persona, STRATEGY, user=DEFAULT_USER)
        return ready[sample.role].compose([], [], sample.question.strip())

    async def sample_answer(number: int) -> None:
        sample, key = asked[number // request.each], keys[number]
        seed = seed_of(request.seed, key)

        async def make() -> dict[str, Any]:
            reply = await generation.calls.say(prompt(sample), seed=seed)
            persona = request.personas[sample.role]
            answer = trim_to_last_sentence(cleaned(reply.text, persona), at_limit=reply.unfinished)
            return {"answer": answer.text, **made_by(model_name, [], reply, seed)}

        await generation.item(number, key, make)

    await generation.work_through(iter(range(len(keys))), sample_answer)


def _rows(
    request: RejectionSamplingRequest, asked: list[Sample], finished: FinishedItems
) -> Iterator[SampleRow]:
    for place, sample in enumerate(asked):
        first = place * request.each
        items = [finished.get(number) for number in range(first, first + request.each)]
        answers = [item["answer"].strip() for item in items if item is not None]
        persona = request.personas[sample.role]
        row = {
            "role": sample.role,
            **persona_fields(persona),
            "question": sample.question,
            "generated": [*dict.fromkeys(filter(None, answers))],
            "references": list(sample.references),
            "kind": sample.kind,
            "language": sample.language,
            "labels": [],
        }
        if row["generated"]:
            yield SampleRow("samples", row)


def _config(
    request: RejectionSamplingRequest, asked: list[Sample], model_name: str, model: BaseChatModel
) -> Mapping[str, Any]:
    questions = "\n".join(f"{sample.role}\0{sample.kind}\0{sample.question}" for sample in asked)
    personas = {sample.role: request.personas[sample.role] for sample in asked}
    return {
        "generator": "draws",
        "personas": {one.id: digest_of(one.model_dump_json()) for one in personas.values()},
        "questions": digest_of(questions),
        "strategy": STRATEGY,
        "each": request.each,
        "seed": request.seed,
        "model": model_name,
        "sampling": describe_sampling(model),
    }
