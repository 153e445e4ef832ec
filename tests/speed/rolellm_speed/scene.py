"""Measures the cost of a scene's turn, by the number of characters and the length of the scene.

For comparison, the same prompts are sent to one `llama_cpp.Llama`, which caches one conversation: each
speaker's prompt evicts the previous one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from statistics import mean
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage

from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.template import turns_of
from rolellm_agents.persona import list_personas
from rolellm_agents.scene import Scene, Seat, cast_scene
from rolellm_agents.scene.run_file import reused_tokens
from rolellm_agents.scene.scene import Director, Stop
from rolellm_agents.transcript import Transcript
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.run import Played, play
from rolellm_graphs.scene.stage import Stage

_ANSWER = 24
"""The most tokens of a line."""
_LAST = 6
"""Number of turns with `Llama`, which prefills every prompt completely; all turns would take hours."""
_MIB_PER_SEAT = 200
"""A context of 8,192 tokens of the embedded model."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class SceneCost:
    """A scene's mean costs per turn."""

    characters: int
    turns: int
    seconds: float
    """Mean over all turns, including graph and transcript."""
    evaluated: float
    """Number of prompt tokens that were computed."""
    prompt_tokens: float
    late_seconds: float
    """Mean over the last turns only."""
    late_evaluated: float
    calls: float
    """Model calls for each line."""
    llama_seconds: float
    """The last prompts with one `llama_cpp.Llama`."""
    llama_evaluated: float
    times_llama: float
    """The speedup over `llama_cpp.Llama` in the last turns."""


async def measure_scenes(
    characters: Sequence[int],
    turns: Sequence[int],
    on_progress: Progress = lambda _done, _total: None,
) -> list[SceneCost]:
    """Play scenes of the bundled cast with the embedded model, with lines of at most 24 tokens.

    Args:
        characters: numbers of characters; each number is one scene.
        turns: numbers of turns after which the costs are reported.
        on_progress: called with the number of finished turns and of all turns.

    Raises:
        ModelError: the memory does not suffice for this number of characters.
    """
    costs: list[SceneCost] = []
    total = len(characters) * max(turns)
    for number, count in enumerate(characters):
        heard = _Prompts()
        seconds: list[float] = []
        played: list[Played] = []
        ensemble = Ensemble(cast_scene(_scene(count, max(turns))), make=partial(_model, count))
        with Transcript(None) as transcript:
            stage = Stage(ensemble, transcript, listeners=[heard])
            await stage.prepare()
            began = time.perf_counter()
            async for event in play(stage):
                if isinstance(event, Played):
                    seconds.append(time.perf_counter() - began)
                    played.append(event)
                    on_progress(number * max(turns) + len(played), total)
                    began = time.perf_counter()
        model = ensemble.director
        assert isinstance(model, ChatLlamaCpp)
        loaded = model.load()
        prompts = [loaded.prompt(turns_of(messages)) for messages in heard.prompts]
        costs += [_cost(count, end, seconds[:end], played[:end], prompts[:end], model) for end in turns]
    return costs


class _Prompts(BaseCallbackHandler):
    """Records all prompts."""

    def __init__(self) -> None:
        self.prompts: list[list[BaseMessage]] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        self.prompts.append(messages[0])


def _model(characters: int, spec: str, **options: Any) -> ChatLlamaCpp:
    del options
    model = get_model(
        spec,
        max_tokens=_ANSWER,
        n_ctx=8192,
        sequences=min(64, characters + 1),
        cache_mib=(characters + 1) * _MIB_PER_SEAT,
    )
    assert isinstance(model, ChatLlamaCpp)
    return model


def _scene(count: int, turns: int) -> Scene:
    cast = [found.persona.id for found in list_personas().found if found.persona.language == "en"]
    return Scene(
        id=f"benchmark-{count}",
        title=f"{count} of the cast",
        setting="A waiting room with hard chairs. The train is late, and everybody has an opinion on it.",
        cast=tuple(Seat(persona=one) for one in islice(cast, count)),
        director=Director(kind="round-robin"),
        stop=Stop(turns=turns, silent=turns + 1),
    )


def _cost(
    count: int,
    end: int,
    seconds: Sequence[float],
    played: Sequence[Played],
    prompts: Sequence[Sequence[int]],
    model: ChatLlamaCpp,
) -> SceneCost:
    evaluated = [_evaluated(one) for one in played]
    last = min(_LAST, end - 1)
    lengths = [int((one.message.usage or {}).get("output_tokens") or 1) for one in played[-last:]]
    llama_seconds, llama_evaluated = _through_llama(model, prompts[-last - 1 :], lengths)
    late = mean(seconds[-last:])
    return SceneCost(
        characters=count,
        turns=end,
        seconds=mean(seconds),
        evaluated=mean(evaluated),
        prompt_tokens=mean(int((one.message.usage or {}).get("input_tokens") or 0) for one in played),
        late_seconds=late,
        late_evaluated=mean(evaluated[-last:]),
        calls=mean(len(one.calls) for one in played),
        llama_seconds=llama_seconds,
        llama_evaluated=llama_evaluated,
        times_llama=llama_seconds / late,
    )


def _evaluated(played: Played) -> int:
    read = int((played.message.usage or {}).get("input_tokens") or 0)
    return read - (reused_tokens(played.message.usage) or 0)


def _through_llama(
    model: ChatLlamaCpp, prompts: Sequence[Sequence[int]], lengths: Sequence[int]
) -> tuple[float, float]:
    """Mean seconds and computed tokens of all prompts but the first, which only fills the cache."""
    from rolellm_agents.models.llamacpp import library
    from rolellm_speed.engine.one_call import open_engine
    from rolellm_speed.engine.system import EngineTask

    loaded = model.load()
    job = EngineTask(
        module="",
        weights=str(loaded.model.path),
        threads=library.processors(),
        n_ctx=loaded.n_ctx,
        sequences=1,
    )
    engine = open_engine(job)
    try:
        engine.turn(0, prompts[0], 1)
        seconds: list[float] = []
        evaluated: list[int] = []
        for prompt, length in zip(prompts[1:], lengths, strict=True):
            began = time.perf_counter()
            evaluated.append(engine.turn(0, prompt, length).evaluated)
            seconds.append(time.perf_counter() - began)
    finally:
        engine.close()
    return mean(seconds), mean(evaluated)
