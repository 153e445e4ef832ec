"""The scene lab: plays one scene repeatedly, with several models and several seeds."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.metrics import distinct_n, mean_interval, word_count
from rolellm_agents.models.catalog import get_model
from rolellm_agents.runs.folder import open_run
from rolellm_agents.scene import LoadedScene, line_of
from rolellm_agents.scene.run_file import reused_tokens
from rolellm_agents.scene.turns import turns
from rolellm_agents.text.language import Language
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs.events import Retried
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.run import Played, play
from rolellm_graphs.scene.stage import Stage

Progress = Callable[[int, int], None]
Keep = Callable[[str, int, Stage, list[Played]], None]
"""Called after each run with its model, seed, stage and all that was played."""


@dataclass(frozen=True, kw_only=True)
class LabRequest:
    """The settings of a lab."""

    loaded: LoadedScene
    models: tuple[str, ...]
    """Model specs; each model plays all seats without a model of their own."""
    seeds: int
    """The number of seeds, starting with the scene's seed or 0."""
    turns: int | None = None
    """The most turns of a run; None plays to the scene's end."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """The models' sampling settings, as JSON values; they must be the same on resuming."""


@dataclass(frozen=True, kw_only=True)
class LabRow:
    """The results of a model; means are over its runs."""

    model: str
    runs: int
    failed: int
    turns: float
    seconds: float
    calls_per_turn: float
    prompt_tokens: float
    """Mean of a run's prompt tokens, including retries, directors and narrators."""
    reused: float
    """The share of prompt tokens that were reused from a cache."""
    completion_tokens: float
    words: float
    """Mean number of words of a line."""
    words_ci95: tuple[float, float] | None
    """The 95 % interval of `words`, clustered by run; None with one run."""
    retried: float
    """The share of turns that were retried."""
    faulty: float
    """The share of turns whose final answer has a fault."""
    distinct_2: float
    """Distinct-2: the share of distinct bigrams among a run's bigrams; low if lines repeat each other."""
    loudest: float
    """The share of turns of the most frequent speaker."""
    endings: dict[str, int]


async def run_lab(
    request: LabRequest,
    folder: Path,
    *,
    make: Callable[..., BaseChatModel] = get_model,
    on_progress: Progress = lambda _done, _total: None,
    on_run: Keep = lambda _model, _seed, _stage, _played: None,
) -> list[LabRow]:
    """Play the missing runs of the scene, one for each model and seed.

    Models play the seats of people, too. A failed run is recorded as failed, and the lab continues.

    A stopped lab resumes. `on_progress` is called with the number of finished runs and of all runs,
    `on_run` after each run.

    Returns:
        A row for each model, in the order of `request.models`.

    Raises:
        ModelError: there is no such model.
        StorageError: the folder cannot be written, or contains another lab.
    """
    first = request.loaded.scene.seed or 0
    seeds = range(first, first + request.seeds)
    done, total = 0, len(request.models) * len(seeds)
    for model in request.models:
        # Report an unknown model now, not after the runs of the models before it.
        Ensemble(request.loaded, model=model, make=make)
    with open_run(folder, _config(request)) as run:
        for model in request.models:
            ensemble = Ensemble(request.loaded, model=model, make=make)
            for seed in seeds:
                key = f"{model} {seed}"
                if key not in run.items:
                    run.append(key, await _one(ensemble, model, seed, request.turns, on_run))
                done += 1
                on_progress(done, total)
        rows = [_row(model, [run.items[f"{model} {seed}"] for seed in seeds]) for model in request.models]
        run.finish({"rows": [asdict(row) for row in rows]})
    return rows


def _config(request: LabRequest) -> dict[str, Any]:
    return {
        "scene": request.loaded.scene.model_dump(mode="json", exclude_unset=True),
        "models": list(request.models),
        "seeds": request.seeds,
        "turns": request.turns,
        "sampling": dict(request.sampling),
    }


async def _one(
    ensemble: Ensemble, model: str, seed: int, turns_at_most: int | None, on_run: Keep
) -> dict[str, Any]:
    with Transcript(None) as transcript:
        handler = _Usages()
        stage = Stage(ensemble, transcript, seed=seed, persons=(), listeners=[handler])
        played: list[Played] = []
        retried, failure = 0, ""
        began = time.perf_counter()
        try:
            async for event in play(stage, turns_at_most):
                if isinstance(event, Played):
                    played.append(event)
                retried += isinstance(event, Retried)
        except RoleLLMError as error:
            failure = str(error)
        seconds = time.perf_counter() - began
        on_run(model, seed, stage, played)
        return {
            "seconds": round(seconds, 2),
            "failed": failure,
            "ended": stage.ended,
            "retried": retried,
            "calls": len(handler.usages),
            "prompt_tokens": sum(_tokens(one, "input_tokens") for one in handler.usages),
            "reused_tokens": sum(reused_tokens(one) or 0 for one in handler.usages),
            "completion_tokens": sum(_tokens(one, "output_tokens") for one in handler.usages),
            **_figures(stage.messages, stage.loaded.scene.language),
        }


class _Usages(BaseCallbackHandler):
    """Collects the token usage of all model calls."""

    run_inline = True  # otherwise LangChain calls the handler in a thread

    def __init__(self) -> None:
        self.usages: list[Mapping[str, Any]] = []

    @property
    def ignore_chain(self) -> bool:
        return True

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        said = response.generations[0][0] if response.generations and response.generations[0] else None
        message = said.message if isinstance(said, ChatGeneration) else None
        usage = message.usage_metadata if isinstance(message, AIMessage) else None
        self.usages.append(dict(usage or {}))


def _figures(messages: Sequence[Message], language: Language) -> dict[str, Any]:
    by_model = [message for message in messages if "model" in message.made_by]
    said = [message.text for message in by_model]
    return {
        "turns": len(turns([line_of(message) for message in messages])),
        "faulty": sum("fault" in one.made_by for one in by_model),
        "speakers": dict(Counter(one.speaker for one in by_model)),
        "words": [word_count(text, language) for text in said],
        "distinct_2": distinct_n(said, 2),
    }


def _tokens(usage: Mapping[str, Any], kind: str) -> int:
    return int(usage.get(kind) or 0)


def _row(model: str, runs: Sequence[Mapping[str, Any]]) -> LabRow:
    turns_taken = sum(one["turns"] for one in runs) or 1
    prompt = sum(one["prompt_tokens"] for one in runs)
    words = [count for one in runs for count in one["words"]]
    clusters = [str(number) for number, one in enumerate(runs) for _ in one["words"]]
    return LabRow(
        model=model,
        runs=len(runs),
        failed=sum(bool(one["failed"]) for one in runs),
        turns=mean(one["turns"] for one in runs),
        seconds=mean(one["seconds"] for one in runs),
        calls_per_turn=sum(one["calls"] for one in runs) / turns_taken,
        prompt_tokens=mean(one["prompt_tokens"] for one in runs),
        reused=sum(one["reused_tokens"] for one in runs) / prompt if prompt else 0.0,
        completion_tokens=mean(one["completion_tokens"] for one in runs),
        words=mean(words) if words else 0.0,
        words_ci95=_ci95(words, clusters),
        retried=sum(one["retried"] for one in runs) / turns_taken,
        faulty=sum(one["faulty"] for one in runs) / turns_taken,
        distinct_2=mean(one["distinct_2"] for one in runs),
        loudest=mean(_loudest(one["speakers"]) for one in runs),
        endings=dict(Counter(one["failed"] or one["ended"] or "It was stopped." for one in runs)),
    )


def _ci95(values: Sequence[float], clusters: Sequence[str]) -> tuple[float, float] | None:
    interval = mean_interval(values, clusters) if values else None
    if interval is None or interval.low is None or interval.high is None:
        return None
    return interval.low, interval.high


def _loudest(speakers: Mapping[str, int]) -> float:
    return max(speakers.values()) / sum(speakers.values()) if speakers else 0.0
