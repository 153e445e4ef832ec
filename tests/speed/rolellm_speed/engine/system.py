"""The interface of engines: a module with `open_engine(job)`, which returns an `EngineUnderTest`."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple, Protocol

from rolellm_speed.engine.workload import WorkloadScene

READY = "ready"
"""The line that a process prints when its model is loaded and the measurement starts."""


@dataclass(frozen=True)
class EngineTask:
    """The job of an engine's process, which is passed as JSON."""

    module: str
    """The module that contains `open_engine`."""
    weights: str
    """The path of a GGUF file."""
    threads: int
    n_ctx: int
    """Context size of a sequence, in tokens."""
    sequences: int
    """Number of the scene's characters, or of concurrent requests."""
    tuned: bool = True
    """Whether to use the best known settings instead of the engine's defaults."""
    flash_attention: bool = False
    """The best known setting on this machine, for tuned engines."""
    cache_type: str = "f16"
    """The best known data type of keys and values, for tuned engines."""
    warm_up: list[int] = field(default_factory=list)
    """A prompt that is answered once before the measurement."""
    scene: WorkloadScene | None = None
    """The scene to play, if any."""
    prompts: list[list[int]] = field(default_factory=list)
    """Prompts for concurrent decoding."""
    answer_to: list[int] = field(default_factory=list)
    """A prompt to answer alone, which the warm-up has already prefilled."""
    limit: float | None = None
    """Seconds for all answers to `answer_to`; an answer that would exceed them is not started."""

    def to_json(self) -> str:
        """The job as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "EngineTask":
        """Parse the JSON of `to_json`."""
        fields = json.loads(text)
        scene = fields.pop("scene")
        return cls(**fields, scene=WorkloadScene(**scene) if scene else None)


class SpokenTurn(NamedTuple):
    """A generated line."""

    tokens: list[int]
    first_token_s: float
    """Seconds from the request to the first token."""
    evaluated: int
    """Prompt tokens computed since the previous turn, including those between the turns."""


class EngineUnderTest(Protocol):
    """An engine with its model loaded."""

    at_once: int
    """The number of requests that it can answer concurrently."""
    features: Sequence[str]
    """The CPU features that its build of llama.cpp uses, by llama.cpp's names."""

    def turn(self, character: int, prompt: Sequence[int], n: int) -> SpokenTurn:
        """Answer with exactly `n` tokens, with greedy decoding and without end tokens.

        A character's prompt begins with its previous prompt and its previous answer.
        """

    def between(self, heard: Sequence[Sequence[int]]) -> None:
        """Optionally prefill the next prompts after a line.

        The time counts towards the scene's seconds, not towards the next turn's first token.

        Args:
            heard: the beginning of each character's next prompt.
        """

    def decode_together(self, prompts: Sequence[Sequence[int]], n: int) -> float:
        """Continue all prompts concurrently with `n` tokens each; returns `together_rate`.

        Repeated calls pass the same prompts in the same order.
        """

    def close(self) -> None:
        """Close the engine."""


def together_rate(arrivals: Sequence[Sequence[float]], n: int) -> float:
    """Tokens per second of several answers, from the time when all have started to the last token.

    This excludes the prefill, and differences between the times at which requests were sent.

    Args:
        arrivals: arrival times of each answer's tokens. There may be fewer than `n`, because a server sends
            a character that consists of several tokens as one chunk.
        n: number of tokens of an answer.
    """
    begin = max(answer[0] for answer in arrivals)
    end = max(answer[-1] for answer in arrivals)
    before = sum(moment <= begin for answer in arrivals for moment in answer)
    return (n * len(arrivals) - before) / (end - begin)


def features_in(system_info: str) -> list[str]:
    """The enabled CPU features in llama.cpp's system information."""
    return re.findall(r"(\w+) = 1\b", system_info)
