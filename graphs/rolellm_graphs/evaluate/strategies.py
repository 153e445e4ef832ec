"""Compares strategies: one model answers the same questions of RoleBench under each."""

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessageChunk

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets import Kind, Sample, find_file, read_samples
from rolellm_agents.errors import PersonaError, RoleLLMError
from rolellm_agents.evaluation.formatting import bounds
from rolellm_agents.evaluation.questions import draw_sample
from rolellm_agents.metrics import difference_interval, mean_interval, paper_recall, rouge_l_f1, word_count
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.separated import separated
from rolellm_agents.persona import Persona, list_personas, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.persona.from_script.noise import with_noise
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.strategies import STRATEGIES, Strategy, named_strategies, strategy_packages
from rolellm_agents.recall import RecallOptions
from rolellm_agents.runs.folder import Run, open_run
from rolellm_agents.runs.seeds import digest_of
from rolellm_agents.text.language import Language

COMPARED_WITH = "system"
"""The paper's strategy, with which the others are compared."""

_MEASURED = ("rouge_l_f1", "rouge_l_recall")
_COUNTED = ("words", "prompt_tokens", "new_tokens", "first_token_s", "seconds")


@dataclass(frozen=True, kw_only=True)
class StrategiesRequest:
    """The settings of a comparison."""

    data: Path
    """A folder of RoleBench."""
    personas: tuple[str, ...] = ()
    """Ids, names or files; empty for all of the cast that are in the data."""
    strategies: tuple[str | Strategy, ...] = tuple(STRATEGIES)
    """Strategies or their names."""
    kind: Kind = "role_specific"
    limit: int | None = None
    """The most questions of each persona; None for all."""
    noise: float = 0.0
    """The share of a profile's lines that are replaced by other characters' lines."""
    seed: int = 0
    """Seed of the noise and of the recall."""
    recall: RecallOptions = field(default_factory=RecallOptions)


Progress = Callable[[int, int], None]


def compare_strategies(
    request: StrategiesRequest,
    model: BaseChatModel,
    *,
    model_name: str,
    folder: Path,
    on_progress: Progress = lambda _done, _total: None,
) -> list[dict[str, Any]]:
    """Answer every question under every strategy, and score the answers.

    A stopped run resumes in its folder. `on_progress` is called with the number of finished answers and of
    all answers.

    Returns:
        For each strategy `strategy`, `n`, each measure's mean and `…_ci95` (percentile bootstrap,
        clustered by persona; None with one persona), the means of counts and times, and
        `rouge_l_f1_less_system` with its interval: the paired difference to `system`.

    Raises:
        RoleBenchError: there are no such questions.
        PersonaError: none of the personas is in the data.
        SettingsError: a strategy is unknown, or two have the same name.
        ModelError: the model cannot be used; finished items are kept.
        StorageError: the folder cannot be written, or contains another run.
    """
    questions = list(_questions(request))
    strategies = named_strategies(request.strategies)
    total = len(questions) * len(strategies)
    with open_run(folder, _config(request, model_name)) as run:
        done = 0
        for persona, group in groupby(questions, key=lambda pair: pair[0]):
            samples = [sample for _, sample in group]
            for sample, strategy, prompting in _prompted(persona, samples, request, run.folder):
                key = f"{persona.id}/{strategy}/{sample.question}"
                if key not in run.items:
                    run.append(key, _answer(model, prompting, sample, request.seed))
                done += 1
                on_progress(done, total)
        rows = _rows(run, strategies)
        run.finish({"rows": rows})
    return rows


def _questions(request: StrategiesRequest) -> Iterator[tuple[Persona, Sample]]:
    """The questions by persona."""
    cast = [found.persona for found in list_personas().found]
    chosen = [load_persona(name) for name in request.personas] or cast
    languages: set[Language] = {one.language for one in chosen} if request.personas else {"en"}
    by_role: dict[str, list[Sample]] = {}
    for language in sorted(languages):
        file = find_file(request.data, "test", kind=request.kind, language=language)
        for sample in read_samples(file):
            by_role.setdefault(sample.role, []).append(sample)
    found = False
    for persona in chosen:
        for sample in draw_sample(by_role.get(persona.name, []), request.limit, seed=request.seed):
            found = True
            yield with_macros(with_noise(persona, cast, request.noise, request.seed), DEFAULT_USER), sample
    if not found:
        raise PersonaError(
            f"None of the personas has {request.kind} questions in {request.data}; "
            "“rolellm persona list” shows the cast's names."
        )


def _prompted(
    persona: Persona, samples: Sequence[Sample], request: StrategiesRequest, folder: Path
) -> Iterator[tuple[Sample, str, Prompting]]:
    """By question, then by strategy, so that the machine's load affects all strategies equally."""
    # A noisy profile must not enter the collections that chats use.
    recall = replace(request.recall, chroma_folder=folder / "chroma") if request.noise else request.recall
    prompting = {
        name: Prompting(persona, strategy, user=DEFAULT_USER, recall=recall)
        for name, strategy in named_strategies(request.strategies).items()
    }
    for sample in samples:
        for name in prompting:
            yield sample, name, prompting[name]


def _answer(model: BaseChatModel, prompting: Prompting, sample: Sample, seed: int) -> dict[str, Any]:
    started = time.perf_counter()
    found = prompting.look_up([], sample.question.strip(), {}, seed=seed)
    messages = prompting.compose([], found.recalled, sample.question.strip())
    first = 0.0
    reply: BaseMessageChunk | None = None
    try:
        for chunk in separated(model).stream(messages):
            first = first or (time.perf_counter() - started if chunk.text else 0.0)
            reply = chunk if reply is None else reply + chunk
    except Exception as error:
        explained: RoleLLMError | None = explain_failure(error, model)
        raise (explained or error) from error
    text = reply.text.strip() if reply else ""
    usage = reply.usage_metadata if isinstance(reply, AIMessageChunk) and reply.usage_metadata else None
    reused = usage.get("input_token_details", {}).get("cache_read", 0) if usage else 0
    return {
        "persona": prompting.persona.id,
        "strategy": prompting.strategy,
        "question": sample.question.strip(),
        "recalled": [item["why"] for item in found.recalled],
        "reply": text,
        "rouge_l_f1": rouge_l_f1(text, sample.references, sample.language),
        "rouge_l_recall": paper_recall(text, sample.references, sample.language),
        "words": word_count(text, sample.language),
        "prompt_tokens": usage["input_tokens"] if usage else None,
        "new_tokens": usage["input_tokens"] - reused if usage else None,
        "first_token_s": round(first, 4),
        "seconds": round(time.perf_counter() - started, 4),
    }


def _rows(run: Run, strategies: Collection[str]) -> list[dict[str, Any]]:
    items: Mapping[str, list[dict[str, Any]]] = {
        strategy: [item for item in run.items.values() if item["strategy"] == strategy]
        for strategy in strategies
    }
    return [_row(strategy, items[strategy], items.get(COMPARED_WITH, [])) for strategy in strategies]


def _row(
    strategy: str, items: Sequence[Mapping[str, Any]], compared: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    clusters = [item["persona"] for item in items]
    row: dict[str, Any] = {"strategy": strategy, "n": len(items)}
    for measure in _MEASURED:
        interval = mean_interval([item[measure] for item in items], clusters)
        row[measure] = round(interval.mean, 4)
        row[f"{measure}_ci95"] = bounds(interval)
    for counted in _COUNTED:
        known = [item[counted] for item in items if item[counted] is not None]
        row[counted] = round(sum(known) / len(known), 3) if known else None
    if compared and strategy != COMPARED_WITH:
        theirs = {(item["persona"], item["question"]): item["rouge_l_f1"] for item in compared}
        own = [item["rouge_l_f1"] for item in items]
        other = [theirs[item["persona"], item["question"]] for item in items]
        difference = difference_interval(own, other, clusters)
        row["rouge_l_f1_less_system"] = round(difference.mean, 4)
        row["rouge_l_f1_less_system_ci95"] = bounds(difference)
    return row


def _config(request: StrategiesRequest, model_name: str) -> dict[str, Any]:
    recall, strategies = request.recall, named_strategies(request.strategies)
    packages = strategy_packages(strategies)
    return {
        "data": str(request.data.resolve()),
        "personas": list(request.personas),
        "strategies": list(strategies),
        **({"packages": packages} if packages else {}),
        "kind": request.kind,
        "limit": request.limit,
        "noise": request.noise,
        "seed": request.seed,
        "model": model_name,
        "recall": [recall.method_name, recall.k, recall.tokens, recall.floor, recall.embeddings],
    }


def run_name(request: StrategiesRequest, model_name: str) -> str:
    """The default folder name of a run with these settings."""
    settings = json.dumps(_config(request, model_name), sort_keys=True)
    return f"strategies-{digest_of(settings)[:8]}"
