"""Models and strategies over RoleBench: the same questions to all, one table of what they are worth.

`docs/design/benchmark.md` says what is measured, what a run's folder holds, and why.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rolellm_agents.datasets import Kind, Split
from rolellm_agents.datasets.writing import json_line
from rolellm_agents.errors import SettingsError, StorageError
from rolellm_agents.evaluation import BASELINE, Result, ResultRow, ScoredReply, System, Throughput
from rolellm_agents.evaluation.columns import Said
from rolellm_agents.evaluation.material import EvaluationMaterial, gather_material
from rolellm_agents.evaluation.questions import KINDS
from rolellm_agents.evaluation.result import overlap_of, role_scores
from rolellm_agents.evaluation.rows import rows_of
from rolellm_agents.evaluation.scored import scored
from rolellm_agents.evaluation.throughput import busy_seconds
from rolellm_agents.files.atomic_write import write_atomically, writing_atomically
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.prompting.strategies import get_strategy
from rolellm_agents.recall import RecallOptions
from rolellm_agents.runs.folder import Run, open_run
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of
from rolellm_agents.text.language import Language
from rolellm_graphs.evaluate.judging import FOLDER, NamedJudge, judged_by
from rolellm_graphs.evaluate.predictions import Answering, ReplyPlan, SystemUnderTest, reply_key
from rolellm_graphs.runs.items import Failures, RunCallbacks, RunLimits

__all__ = ["NamedJudge", "RoleBenchRequest", "SystemUnderTest", "run_name", "run_rolebench"]

RESULTS: Final = "results.json"
SCORED: Final = "scored.jsonl"
_ITEMS: Final = "items.jsonl"
_CHROMA: Final = "chroma"


@dataclass(frozen=True, kw_only=True)
class RoleBenchRequest:
    """What is asked of whom."""

    data: Path
    """A folder of RoleBench."""
    split: Split = "instruction-generalization"
    strategies: tuple[str, ...] = ("system",)
    kinds: tuple[Kind, ...] = KINDS
    language: Language = "en"
    limit: int | None = None
    """Questions of each kind at most, spread over the roles; all when None."""
    roles: tuple[str, ...] = ()
    """Their names, or ids, names or files of personas; all roles of the data when empty."""
    seed: int = 0
    """Sampling seed."""
    recall: RecallOptions = field(default_factory=RecallOptions)


async def run_rolebench(
    request: RoleBenchRequest,
    systems: Sequence[SystemUnderTest],
    *,
    folder: Path,
    judges: Sequence[NamedJudge] = (),
    limits: RunLimits | None = None,
    callbacks: RunCallbacks | None = None,
) -> Result:
    """Have models answer the questions, score the answers, and have them judged, as far as not done yet.

    Args:
        request: the settings.
        systems: models, which are opened one after the other and let go when they have answered.
        folder: the run's folder; a stopped run resumes.
        judges: may be others than before: the answers stay.
        limits: how much is asked at the same time.
        callbacks: report progress and notices.

    Returns:
        What there is, also where some answers could not be made; `results.json` holds the same.

    Raises:
        RoleBenchError: there are no such questions, or a file of the data is damaged.
        PersonaError: no role has a profile, or there is nobody of a name.
        SettingsError: there is no such strategy, or no model or strategy at all.
        ModelError: a model cannot be loaded; finished items are kept.
        StorageError: the folder cannot be written, or contains another run.
    """
    limits, callbacks = limits or RunLimits(), callbacks or RunCallbacks()
    systems = list({system.name: system for system in systems}.values())
    _check(request, systems)
    material = _material(request)
    for note in material.notes:
        callbacks.notice(note)
    strategies = list(dict.fromkeys(request.strategies))
    plan = ReplyPlan([one.name for one in systems], strategies, material.asked, material.speakers)
    config = _config(request, material, systems, limits)
    with open_run(folder, config, in_memory=False) as run:
        run.reopen()
        finished = FinishedItems(run, plan.keys)
        answering = Answering(
            plan, finished, recall=request.recall, own_store=folder / _CHROMA, seed=request.seed
        )
        failures = await _answer(answering, systems, limits, callbacks)
        replies = [*_replies(plan, material, finished), *_published(material)]
        judged, broken = await _judge(replies, judges, plan.systems[0], folder, limits, callbacks)
        result = Result(
            config=config,
            complete=finished.count == plan.size and not broken,
            failed=failures.count,
            first_failure=failures.first,
            rows=_rows(judged, plan, material),
            roles=role_scores(judged),
            throughput=_throughput(plan, finished, limits.at_once),
            made_from=material.made_from,
            training_rows=material.training_rows,
            overlap=overlap_of(material.asked, material.overlap),
            speakers=material.speakers,
            notes=[*material.notes, *broken],
        )
        _write(run, result, judged, judges)
    return result


def run_name(
    request: RoleBenchRequest, models: Sequence[str], at_once: int, max_tokens: int | None = None
) -> str:
    """The default folder name of a run with these settings."""
    settings = json.dumps([_settings(request), list(models), at_once, max_tokens], sort_keys=True)
    return f"rolebench-{digest_of(settings)[:8]}"


def _check(request: RoleBenchRequest, systems: Sequence[SystemUnderTest]) -> None:
    for name in request.strategies:
        get_strategy(name)
    for given, what in ((systems, "model"), (request.strategies, "strategy"), (request.kinds, "kind")):
        if not given:
            raise SettingsError(f"No {what} is named; name at least one.")
    if any(system.name == BASELINE.model for system in systems):
        raise SettingsError(
            f"{BASELINE.model!r} is the name of the published answers; name the model else."
        )


def _material(request: RoleBenchRequest) -> EvaluationMaterial:
    return gather_material(
        request.data,
        request.split,
        request.kinds,
        request.language,
        roles=request.roles,
        limit=request.limit,
    )


def _settings(request: RoleBenchRequest) -> dict[str, Any]:
    recall = request.recall
    return {
        "data": str(request.data.resolve()),
        "split": request.split,
        "kinds": list(request.kinds),
        "language": request.language,
        "limit": request.limit,
        "roles": list(request.roles),
        "strategies": list(request.strategies),
        "seed": request.seed,
        "recall": [recall.method_name, recall.k, recall.tokens, recall.floor, recall.embeddings],
    }


def _config(
    request: RoleBenchRequest,
    material: EvaluationMaterial,
    systems: Sequence[SystemUnderTest],
    limits: RunLimits,
) -> dict[str, Any]:
    """All that the replies depend on; a batch of another size rounds otherwise."""
    asked = "\n".join(f"{one.kind} {one.role} {one.question} {one.references}" for one in material.asked)
    personas = {
        key: digest_of(one.model_dump_json()) for key, one in sorted(material.speakers.personas.items())
    }
    return {
        "benchmark": "rolebench",
        **_settings(request),
        "models": {one.name: describe_sampling(one.model) for one in systems},
        "at_once": limits.at_once,
        "questions": digest_of(asked),
        "personas": digest_of(json.dumps(personas)),
    }


async def _answer(
    answering: Answering, systems: Iterable[SystemUnderTest], limits: RunLimits, callbacks: RunCallbacks
) -> Failures:
    """All that failed, of whichever model."""
    failures = Failures()
    for system in systems:
        failed = await answering.run(system, limits, callbacks)
        failures.count += failed.count
        failures.first = failures.first or failed.first
    return failures


async def _judge(
    replies: Sequence[ScoredReply],
    judges: Iterable[NamedJudge],
    first: System,
    folder: Path,
    limits: RunLimits,
    callbacks: RunCallbacks,
) -> tuple[Sequence[ScoredReply], list[str]]:
    """The replies with the verdicts on them, and a sentence for each judge that could not go on."""
    broken = []
    for named in judges:
        callbacks.notice(f"The judge {named.name} is at work.")
        judging = await judged_by(
            named, replies, first, folder, at_once=limits.at_once, callbacks=callbacks
        )
        replies = judging.scored
        if judging.failure:
            broken.append(f"The judge {named.name} gave up: {judging.failure}")
    return replies, broken


def _replies(
    plan: ReplyPlan, material: EvaluationMaterial, finished: FinishedItems
) -> Iterator[ScoredReply]:
    """What the models replied, system by system, scored."""
    numbers = {wanted.key: wanted.number for wanted in plan.wanted() if wanted.number in finished}
    for system in plan.systems:
        for question, sample in enumerate(material.asked):
            key, persona = reply_key(system, sample), material.speakers.of(sample)
            if key in numbers and persona is not None:
                item = finished.get(numbers[key])
                yield scored(
                    system,
                    question,
                    key,
                    Said(item["reply"], persona, sample),
                    overlap=material.overlap[question],
                    costs=_costs(item),
                )


def _published(material: EvaluationMaterial) -> Iterator[ScoredReply]:
    """What RoleGPT replied to the same questions, as far as it did, scored."""
    for question, (sample, reply) in enumerate(zip(material.asked, material.published, strict=True)):
        persona = material.speakers.of(sample)
        if reply is not None and persona is not None:
            yield scored(
                BASELINE,
                question,
                f"{reply_key(BASELINE, sample)}/{question}",
                Said(reply, persona, sample),
                overlap=material.overlap[question],
            )


def _rows(judged: Sequence[ScoredReply], plan: ReplyPlan, material: EvaluationMaterial) -> list[ResultRow]:
    return rows_of(
        judged,
        [*plan.systems, BASELINE],
        asked=Counter(sample.kind for sample in material.asked),
        training_known=material.training_rows > 0,
    )


def _costs(item: Mapping[str, Any]) -> dict[str, float | None]:
    tokens = item["tokens"]
    return {
        "prompt_tokens": tokens["read"],
        "new_tokens": tokens["read"] - item["reused"],
        "reply_tokens": tokens["written"],
        "cut": float(item["cut"]),
        "seconds": item["seconds"],
    }


def _throughput(plan: ReplyPlan, finished: FinishedItems, at_once: int) -> list[Throughput]:
    made: dict[str, list[Any]] = {model: [] for model in plan.models}
    for wanted in plan.wanted():
        if wanted.number in finished:
            made[wanted.system.model].append(finished.get(wanted.number))
    return [
        Throughput(
            model=model,
            at_once=at_once,
            answers=len(items),
            tokens=sum(item["tokens"]["written"] for item in items),
            seconds=busy_seconds((item["ended"] - item["seconds"], item["ended"]) for item in items),
        )
        for model, items in made.items()
    ]


def _write(run: Run, result: Result, replies: Iterable[ScoredReply], judges: Iterable[NamedJudge]) -> None:
    """Every reply with its scores, the results, and when nothing is left to do the manifest."""
    with writing_atomically(run.folder / SCORED, StorageError) as out:
        for one in replies:
            out.write(json_line(one.to_json()))
    files = {
        "replies": _ITEMS,
        "scored": SCORED,
        "judges": {judge.name: f"{FOLDER}/{judge.name}" for judge in judges},
    }
    told = json.dumps(result.to_file(files), ensure_ascii=False, indent=2)
    write_atomically(run.folder / RESULTS, f"{told}\n", StorageError)
    if result.complete:
        run.finish({"items": sum(one.answers for one in result.throughput), "rows": len(result.rows)})
