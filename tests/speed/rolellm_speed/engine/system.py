"""What an engine is: a module with `open_engine(job)` that gives an `EngineUnderTest`."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple, Protocol

from rolellm_speed.engine.workload import WorkloadScene

READY = "ready"
"""What a process says when its model is loaded and the clock begins to run."""


@dataclass(frozen=True)
class EngineTask:
    """What an engine's process is asked to do; travels as JSON."""

    module: str
    """Where `open_engine` is."""
    weights: str
    """A GGUF file."""
    threads: int
    n_ctx: int
    """Tokens a sequence can hold."""
    sequences: int
    """Characters of the scene, or requests at once."""
    tuned: bool = True
    """Whether to use the best settings known, and not the engine's own defaults."""
    flash_attention: bool = False
    """The best known setting on this machine, for whom is tuned."""
    cache_type: str = "f16"
    """The same, for keys and values."""
    warm_up: list[int] = field(default_factory=list)
    """A prompt to be answered once before the clock runs."""
    scene: WorkloadScene | None = None
    """Play it."""
    prompts: list[list[int]] = field(default_factory=list)
    """Go on with as many of them at once as is asked for."""
    answer_to: list[int] = field(default_factory=list)
    """Answer this prompt alone, which was the warm-up and so is read already."""
    limit: float | None = None
    """Seconds for all answers to it; when another one would not fit, there is none."""

    def to_json(self) -> str:
        """For the other process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "EngineTask":
        """What `to_json` made."""
        fields = json.loads(text)
        scene = fields.pop("scene")
        return cls(**fields, scene=WorkloadScene(**scene) if scene else None)


class SpokenTurn(NamedTuple):
    """A line that was spoken."""

    tokens: list[int]
    first_token_s: float
    """From the moment it was asked for."""
    evaluated: int
    """Prompt tokens computed since the turn before, what was read between the turns included."""


class EngineUnderTest(Protocol):
    """An engine with its model loaded."""

    at_once: int
    """How many requests it can answer at once."""
    features: Sequence[str]
    """What its build of llama.cpp uses of the processor, in llama.cpp's words."""

    def turn(self, character: int, prompt: Sequence[int], n: int) -> SpokenTurn:
        """Answer with exactly `n` tokens, the likeliest each time, and none that ends the answer.

        A character's prompt begins with its last prompt and what it answered to it.
        """

    def between(self, heard: Sequence[Sequence[int]]) -> None:
        """A line was spoken and nobody is asked yet; whoever likes may read ahead.

        Counts for the scene's seconds, not for the next turn's first token.

        Args:
            heard: for each character what its next prompt will begin with.
        """

    def decode_together(self, prompts: Sequence[Sequence[int]], n: int) -> float:
        """Go on with all prompts at once, `n` tokens each; gives `together_rate`.

        The same prompts come again and again, the same one in the same place.
        """

    def close(self) -> None:
        """End."""


def together_rate(arrivals: Sequence[Sequence[float]], n: int) -> float:
    """Tokens a second of several answers, from when all have begun to the last token of all.

    So neither reading the prompts counts nor that requests cannot be sent at one instant.

    Args:
        arrivals: for each answer the moments at which tokens arrived. There may be fewer than `n`:
            a server holds the parts of a character back and sends them at once.
        n: tokens of an answer.
    """
    begin = max(answer[0] for answer in arrivals)
    end = max(answer[-1] for answer in arrivals)
    before = sum(moment <= begin for answer in arrivals for moment in answer)
    return (n * len(arrivals) - before) / (end - begin)


def features_in(system_info: str) -> list[str]:
    """The features that are on, in what llama.cpp says of the system."""
    return re.findall(r"(\w+) = 1\b", system_info)
