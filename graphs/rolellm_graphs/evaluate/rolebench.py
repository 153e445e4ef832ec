"""Evaluates models and strategies on RoleBench.

`docs/design/benchmark.md` describes the measures and the files of a run.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from rolellm_agents.datasets import Kind, Split
from rolellm_agents.datasets.writing import json_line
from rolellm_agents.errors import SettingsError, StorageError
from rolellm_agents.evaluation import BASELINE, Result, ScoredReply, System, Throughput
from rolellm_agents.evaluation.columns import AnsweredSample
from rolellm_agents.evaluation.material import EvaluationMaterial, gather_material
from rolellm_agents.evaluation.plain_answers import raw_scores, read_plain_answers
from rolellm_agents.evaluation.predicted import PredictionFile, predicted_replies
from rolellm_agents.evaluation.questions import KINDS
from rolellm_agents.evaluation.result import overlap_of, role_scores
from rolellm_agents.evaluation.rows import rows_of
from rolellm_agents.evaluation.scored import scored
from rolellm_agents.evaluation.throughput import busy_seconds
from rolellm_agents.files.atomic_write import write_atomically, writing_atomically
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.prompting.strategies import Strategy, named_strategies, strategy_packages
from rolellm_agents.recall import RecallOptions
from rolellm_agents.runs.folder import Run, open_run
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of
from rolellm_agents.text.language import Language
from rolellm_graphs.evaluate.judging import FOLDER, NamedJudge, judge_scored
from rolellm_graphs.evaluate.predictions import ReplyMaker, ReplyPlan, SystemUnderTest, reply_key
from rolellm_graphs.judge.judges import judges_replies
from rolellm_graphs.runs.items import Failures, RunCallbacks, RunLimits

__all__ = ["NamedJudge", "RoleBenchRequest", "SystemUnderTest", "run_name", "run_rolebench"]

Against = Literal["first", "rolegpt"]

RESULTS: Final = "results.json"
SCORED: Final = "scored.jsonl"
_ITEMS: Final = "items.jsonl"
_CHROMA: Final = "chroma"


@dataclass(frozen=True, kw_only=True)
class RoleBenchRequest:
    """The settings of an evaluation."""

    data: Path
    """A folder of RoleBench."""
    split: Split = "instruction-generalization"
    strategies: tuple[str | Strategy, ...] = ("system",)
    """Strategies or their names."""
    kinds: tuple[Kind, ...] = KINDS
    language: Language = "en"
    limit: int | None = None
    """The most questions of each kind, drawn by `seed`, stratified by type and role; None for all."""
    roles: tuple[str, ...] = ()
    """Names of roles, or ids, names or files of personas; empty for all roles of the data."""
    predictions: tuple[PredictionFile, ...] = ()
    """Answers of other programs, which are scored and judged like those of the models."""
    plain_answers: Path | None = None
    """A file of plain answers to the general instructions, for the paper's RAW."""
    against: Against = "first"
    """The system with whose replies judges of pairs compare the others: the first, or RoleGPT."""
    seed: int = 0
    """Seed of the drawn questions and of the models' sampling."""
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
    """Answer the questions, score the answers and judge them; finished items are reused.

    The models are loaded one after the other. A stopped run resumes in its folder; judges may change
    between starts. Without models, the predictions alone are evaluated.

    Returns:
        The result, also when some answers failed; `results.json` contains the same.

    Raises:
        RoleBenchError: there are no such questions, or a file of the data or of predictions is damaged.
        PersonaError: no role has a profile, or a name is unknown.
        SettingsError: a strategy is unknown, two have the same name, or no model or strategy is given.
        ModelError: a model cannot be loaded; finished items are kept.
        StorageError: the folder cannot be written, or contains another run.
    """
    limits, callbacks = limits or RunLimits(), callbacks or RunCallbacks()
    systems = list({system.name: system for system in systems}.values())
    _check(request, systems)
    strategies = named_strategies(request.strategies)
    material = _material(request)
    for note in material.notes:
        callbacks.notice(note)
    predicted = {file.system: predicted_replies(file, material.asked) for file in request.predictions}
    plain = read_plain_answers(request.plain_answers) if request.plain_answers else {}
    plan = ReplyPlan([one.name for one in systems], strategies, material.asked, material.speakers)
    config = _config(request, material, systems, limits)
    with open_run(folder, config, in_memory=False) as run:
        run.reopen()
        finished = FinishedItems(run, plan.keys)
        maker = ReplyMaker(
            plan, finished, recall=request.recall, own_store=folder / _CHROMA, seed=request.seed
        )
        failures = await _answer(maker, systems, limits, callbacks)
        replies = [*_replies(plan, material, finished)]
        for system, given in {**predicted, BASELINE: material.published}.items():
            replies += _given(system, given, material)
        order = [*plan.systems, *predicted, BASELINE]
        against = BASELINE if request.against == "rolegpt" else order[0]
        judged, judge_failures = await _judge(replies, judges, against, folder, limits, callbacks)
        result = Result(
            config=config,
            complete=finished.count == plan.size and not judge_failures,
            failed=failures.count,
            first_failure=failures.first,
            rows=rows_of(
                judged,
                order,
                asked=Counter(sample.kind for sample in material.asked),
                training_known=material.training_rows > 0,
                judged_against=against,
            ),
            roles=role_scores(judged),
            throughput=_throughput(plan, finished, limits.at_once),
            made_from=material.made_from,
            training_rows=material.training_rows,
            overlap=overlap_of(material.asked, material.overlap),
            speakers=material.speakers,
            notes=[*material.notes, *_gaps(predicted), *judge_failures],
            raw=raw_scores(judged, plain),
            compared_with_rolegpt=_pair_judge(judges) if request.against == "rolegpt" else None,
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
    answering = (*systems, *request.predictions)
    for given, what in ((answering, "model"), (request.strategies, "strategy"), (request.kinds, "kind")):
        if not given:
            raise SettingsError(f"No {what} is named; name at least one.")
    names = Counter([*(one.name for one in systems), *(one.name for one in request.predictions)])
    if BASELINE.model in names:
        raise SettingsError(
            f"{BASELINE.model!r} is the name of the published answers; choose another name for the model."
        )
    if twice := [name for name, count in names.items() if count > 1]:
        raise SettingsError(
            f"Two systems have the name {twice[0]!r}; give predictions another name with --as."
        )


def _material(request: RoleBenchRequest) -> EvaluationMaterial:
    return gather_material(
        request.data,
        request.split,
        request.kinds,
        request.language,
        roles=request.roles,
        limit=request.limit,
        seed=request.seed,
    )


def _settings(request: RoleBenchRequest) -> dict[str, Any]:
    recall, strategies = request.recall, named_strategies(request.strategies)
    packages = strategy_packages(strategies)
    return {
        "data": str(request.data.resolve()),
        "split": request.split,
        "kinds": list(request.kinds),
        "language": request.language,
        "limit": request.limit,
        "roles": list(request.roles),
        "strategies": list(strategies),
        **({"packages": packages} if packages else {}),
        **({"predictions": _digests(request.predictions)} if request.predictions else {}),
        "seed": request.seed,
        "recall": [recall.method_name, recall.k, recall.tokens, recall.floor, recall.embeddings],
    }


def _digests(files: Iterable[PredictionFile]) -> dict[str, str]:
    """Digests of the contents by name; a file that cannot be read is reported when it is evaluated."""
    found = {}
    for file in files:
        try:
            found[file.name] = digest_of(file.path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            found[file.name] = ""
    return found


def _config(
    request: RoleBenchRequest,
    material: EvaluationMaterial,
    systems: Sequence[SystemUnderTest],
    limits: RunLimits,
) -> dict[str, Any]:
    """Everything that the replies depend on, including the batch size, which affects rounding."""
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
    maker: ReplyMaker, systems: Iterable[SystemUnderTest], limits: RunLimits, callbacks: RunCallbacks
) -> Failures:
    """Make the replies of all models, and return the failures."""
    failures = Failures()
    for system in systems:
        failed = await maker.run(system, limits, callbacks)
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
    """The replies with their verdicts, and a sentence for each judge that stopped early."""
    judge_failures = []
    for named in judges:
        callbacks.notice(f"The judge {named.name} is running.")
        outcome = await judge_scored(
            named, replies, first, folder, at_once=limits.at_once, callbacks=callbacks
        )
        replies = outcome.scored
        if outcome.failure:
            judge_failures.append(f"The judge {named.name} stopped: {outcome.failure}")
    return replies, judge_failures


def _replies(
    plan: ReplyPlan, material: EvaluationMaterial, finished: FinishedItems
) -> Iterator[ScoredReply]:
    """The scored replies, by system."""
    numbers = {planned.key: planned.number for planned in plan.replies() if planned.number in finished}
    for system in plan.systems:
        for question, sample in enumerate(material.asked):
            key, persona = reply_key(system, sample), material.speakers.of(sample)
            if key in numbers and persona is not None:
                item = finished.get(numbers[key])
                yield scored(
                    system,
                    question,
                    key,
                    AnsweredSample(item["reply"], persona, sample),
                    overlap=material.overlap[question],
                    costs=_costs(item),
                )


def _given(
    system: System, replies: Sequence[str | None], material: EvaluationMaterial
) -> Iterator[ScoredReply]:
    """The scored replies of a file to the same questions."""
    for question, (sample, reply) in enumerate(zip(material.asked, replies, strict=True)):
        persona = material.speakers.of(sample)
        if reply is not None and persona is not None:
            yield scored(
                system,
                question,
                f"{reply_key(system, sample)}/{question}",
                AnsweredSample(reply, persona, sample),
                overlap=material.overlap[question],
            )


def _gaps(predicted: Mapping[System, Sequence[str | None]]) -> Iterator[str]:
    for system, replies in predicted.items():
        if missing := sum(reply is None for reply in replies):
            yield f"{system.model} has no reply to {missing} of {len(replies)} questions."


def _pair_judge(judges: Iterable[NamedJudge]) -> str | None:
    """The first judge of pairs."""
    return next((one.name for one in judges if not judges_replies(one.judge)), None)


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
    items_of: dict[str, list[Any]] = {model: [] for model in plan.models}
    for planned in plan.replies():
        if planned.number in finished:
            items_of[planned.system.model].append(finished.get(planned.number))
    return [
        Throughput(
            model=model,
            at_once=at_once,
            answers=len(items),
            tokens=sum(item["tokens"]["written"] for item in items),
            seconds=busy_seconds((item["ended"] - item["seconds"], item["ended"]) for item in items),
        )
        for model, items in items_of.items()
    ]


def _write(run: Run, result: Result, replies: Iterable[ScoredReply], judges: Iterable[NamedJudge]) -> None:
    """Write the scored replies, the results and, when the run is complete, the manifest."""
    with writing_atomically(run.folder / SCORED, StorageError) as out:
        for one in replies:
            out.write(json_line(one.to_json()))
    files = {
        "replies": _ITEMS,
        "scored": SCORED,
        "judges": {judge.name: f"{FOLDER}/{judge.name}" for judge in judges},
    }
    content = json.dumps(result.to_file(files), ensure_ascii=False, indent=2)
    write_atomically(run.folder / RESULTS, f"{content}\n", StorageError)
    if result.complete:
        run.finish({"items": sum(one.answers for one in result.throughput), "rows": len(result.rows)})
