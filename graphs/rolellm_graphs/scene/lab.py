"""The scene lab: one scene played many times, by several models and with several seeds."""

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
"""Is given the model, the seed, the stage and all that was played, when a run is over."""


@dataclass(frozen=True, kw_only=True)
class LabRequest:
    """What is played."""

    loaded: LoadedScene
    models: tuple[str, ...]
    """Specs; each plays all seats that have no model of their own."""
    seeds: int
    """How many, from the scene's own or 0 on."""
    turns: int | None = None
    """At most; None is to the scene's end."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """With what `make` makes the models, as JSON values: a lab goes on only with the same."""


@dataclass(frozen=True, kw_only=True)
class LabRow:
    """What came of a model's runs; means are over runs."""

    model: str
    runs: int
    failed: int
    turns: float
    seconds: float
    calls_per_turn: float
    prompt_tokens: float
    """Of a run, all prompts together: what was said again, directors and narrators count too."""
    reused: float
    """The share of them that was not computed anew."""
    completion_tokens: float
    words: float
    """Of a line."""
    words_ci95: tuple[float, float] | None
    """Clustered by run; None with one run."""
    retried: float
    """The share of turns that had to be said again."""
    faulty: float
    """The share of turns that stand with a fault."""
    distinct_2: float
    """Of a run's pairs of words, the share that are new: low when all say the same."""
    loudest: float
    """The share of turns that the most frequent speaker took."""
    endings: dict[str, int]


async def run_lab(
    request: LabRequest,
    folder: Path,
    *,
    make: Callable[..., BaseChatModel] = get_model,
    on_progress: Progress = lambda _done, _total: None,
    on_run: Keep = lambda _model, _seed, _stage, _played: None,
) -> list[LabRow]:
    """Play the scene with every model and every seed; what was played before is not played again.

    People's seats are played by models, too. A run that fails is kept as failed, and the rest goes on.

    Args:
        request: what is played.
        folder: of the run.
        make: makes models from specs.
        on_progress: is told how many runs are over, and how many there will be.
        on_run: is told of each run that is over.

    Returns:
        A row for each model, in the order in which they were given.

    Raises:
        ModelError: there is no such model.
        StorageError: the folder cannot be written, or holds another lab.
    """
    first = request.loaded.scene.seed or 0
    seeds = range(first, first + request.seeds)
    done, total = 0, len(request.models) * len(seeds)
    for model in request.models:
        # A wrong name is told now, not when all that stands before it has been played.
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
        heard = _Usages()
        stage = Stage(ensemble, transcript, seed=seed, persons=(), listeners=[heard])
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
            "calls": len(heard.usages),
            "prompt_tokens": sum(_tokens(one, "input_tokens") for one in heard.usages),
            "reused_tokens": sum(reused_tokens(one) or 0 for one in heard.usages),
            "completion_tokens": sum(_tokens(one, "output_tokens") for one in heard.usages),
            **_figures(stage.messages, stage.loaded.scene.language),
        }


class _Usages(BaseCallbackHandler):
    """Hears what each call of a model took."""

    run_inline = True  # else each event is handed to a thread and back

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
    told = [str(number) for number, one in enumerate(runs) for _ in one["words"]]
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
        words_ci95=_ci95(words, told),
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
