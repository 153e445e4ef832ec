"""Which settings are quickest on this machine: a few are tried on a short conversation, side by side."""

import math
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Literal

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.engine.context import BatchToken, LlamaContext
from rolellm_agents.models.llamacpp.engine.sampling import Sampler, Sampling
from rolellm_agents.models.llamacpp.engine.threads import FixedThreads
from rolellm_agents.models.llamacpp.files.weights import fastest_weights
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.tuning.settings import Tuning, default_tuning

Format = Literal["original", "q8_0"]

_X86 = ("x86_64", "amd64", "x86", "i386", "i686")
_TEXT = "The keeper of the lighthouse had much to say about the weather, and none of it was kind. "
_PREFILLED = 500
"""Tokens that stand before what is timed: a persona and some turns."""
_FIRST_STEP = 50
"""Tokens of these that are read at once before the first look at the clock; then it is twice as many."""
_READ, _WRITE = 40, 12
"""Tokens that one timing reads and writes."""
_TURN_READ, _TURN_WRITE = 120, 32
"""What a turn of a conversation reads and writes, on the average."""
_ROUNDS = 2
"""Timings of each candidate at the least: the first one still warms caches up."""
_STILL_OPEN = 1.15
"""Times the quickest one's time; who is slower than that after those rounds need not be timed again."""
_JUDGED_AFTER = 0.5
"""Seconds; what is shorter may have been hit by a single interruption."""
_QUIET = 0.75
"""Part of the processors' time that a measurement must get."""
_WORTH_CHANGING = 0.95
"""Part of the defaults' time; what gains less may be chance."""


@dataclass(frozen=True)
class Measured:
    """A candidate, and the best of its timings."""

    tuning: Tuning
    read_per_second: float
    """Tokens of a prompt."""
    write_per_second: float
    """Tokens of an answer."""

    @property
    def turn_seconds(self) -> float:
        """What a turn of a conversation takes."""
        return _TURN_READ / self.read_per_second + _TURN_WRITE / self.write_per_second


@dataclass(frozen=True)
class Calibration:
    """What was measured, and what follows from it."""

    tuning: Tuning
    """To be used from now on."""
    chosen: Measured
    """The candidate it comes from."""
    candidates: tuple[Measured, ...]
    """All of them, the defaults first."""

    @property
    def gain(self) -> float:
        """The part of the defaults' time that is saved."""
        return 1 - self.chosen.turn_seconds / self.candidates[0].turn_seconds


def calibrate(
    path: Path, *, progress: Callable[[str], None] | None = None, seconds: float = 8.0
) -> Calibration:
    """Measure the settings worth trying for a model, on the processor; nothing is kept.

    Args:
        path: a GGUF file.
        progress: is told what is being done.
        seconds: about how long it may take; a model too large for that takes as long as it must.

    Raises:
        ModelError: the model cannot be loaded, there is no memory for its context, or the machine is
            too busy to measure anything.
    """
    tell = progress or (lambda _: None)
    end = time.monotonic() + seconds
    files = _files(path)
    with ExitStack() as stack:
        tell(f"Reading a conversation with {path.name}")
        opened = _enter(files, stack, patience=seconds / 6)
        _race(opened, end, tell)
        measured = tuple(candidate.measured() for candidate in opened)
    chosen = choose(measured)
    # A format that could not be tried, as without room on the disk, stays wanted.
    weights = chosen.tuning.weights if len(files) > 1 else default_tuning(path).weights
    return Calibration(replace(chosen.tuning, weights=weights), chosen, measured)


def choose(measured: Sequence[Measured]) -> Measured:
    """The quickest, if it is clearly quicker than the first, which are the defaults."""
    quickest = min(measured, key=lambda one: one.turn_seconds)
    gains = quickest.turn_seconds <= _WORTH_CHANGING * measured[0].turn_seconds
    return quickest if gains else measured[0]


def candidates(formats: Sequence[Format]) -> list[Tuning]:
    """What is worth trying on this processor, the defaults first.

    Args:
        formats: the weights there are, the default ones first.
    """
    layouts: list[tuple[bool, Literal["f16", "bf16"]]] = [(False, "f16"), (True, "f16")]
    if "AVX512_BF16" in library.features() or platform.machine().lower() not in _X86:
        # Elsewhere each number would be widened first; with flash attention it is slow everywhere.
        layouts.append((False, "bf16"))
    # Two threads on one core often get in each other's way.
    threads = [0, library.processors() // 2] if library.processors() > 2 else [0]
    return [
        Tuning(flash_attention=flash, cache_type=cache_type, n_threads=n_threads, weights=weights)
        for weights, (flash, cache_type), n_threads in product(formats, layouts, threads)
    ]


def _files(path: Path) -> dict[Format, Path]:
    """Where the weights lie in each format there is, the default one first."""
    if default_tuning(path).weights == "original":
        return {"original": path}
    quick = fastest_weights(path, "q8_0")
    return {"original": path} if quick == path else {"q8_0": quick, "original": path}


def _enter(files: Mapping[Format, Path], stack: ExitStack, *, patience: float) -> "list[_Candidate]":
    """Open all candidates; each layout reads the conversation once, and the others of it copy that."""
    models = {weights: LlamaModel(file) for weights, file in files.items()}
    for model in models.values():
        stack.callback(model.close)
    default = next(iter(models.values()))
    prefilled = _tokens(default, min(_PREFILLED, default.n_ctx_train - _READ - _WRITE))
    states: dict[tuple[bool, str], bytes] = {}
    opened: list[_Candidate] = []
    for tuning in candidates(list(files)):
        try:
            candidate = _Candidate(models[tuning.weights], tuning, n_ctx=len(prefilled) + _READ + _WRITE)
        except ModelError:
            if not opened:
                raise
            continue  # not every model can do with flash attention
        stack.callback(candidate.close)
        if not opened:
            candidate.warm_up()
        if candidate.layout not in states:
            states[candidate.layout] = candidate.read(prefilled, patience if not opened else math.inf)
            prefilled = prefilled[: candidate.prefilled]
        candidate.take_over(states[candidate.layout], len(prefilled))
        opened.append(candidate)
    return opened


def _tokens(model: LlamaModel, count: int) -> list[int]:
    words = (_TEXT * (count // len(_TEXT.split()) + 1)).strip()
    return model.tokenize(words)[: max(count, 0)]


def _race(entrants: Sequence["_Candidate"], end: float, tell: Callable[[str], None]) -> None:
    """Time the candidates in turn, round by round, since machines drift; the best timing of each counts."""
    racing, done, took = list(entrants), 0, 0.0
    while done < _ROUNDS or time.monotonic() + took < end:
        started = time.monotonic()
        done += 1
        tell(f"Timing {len(racing)} candidates, round {done}")
        # To and fro, so that whatever slows the machine down bit by bit favours nobody.
        for candidate in racing if done % 2 else reversed(racing):
            candidate.time_once()
        took = time.monotonic() - started
        if done >= _ROUNDS:
            limit = _STILL_OPEN * min(candidate.measured().turn_seconds for candidate in racing)
            racing = [
                candidate
                for candidate in racing
                if candidate is entrants[0] or candidate.measured().turn_seconds <= limit
            ]


class _Candidate:
    """A candidate with a context of its own, in which a conversation stands."""

    def __init__(self, model: LlamaModel, tuning: Tuning, *, n_ctx: int) -> None:
        self.tuning = tuning
        self.prefilled = 0
        self._new = _tokens(model, _READ)
        self._state = b""
        threads = FixedThreads(tuning.n_threads or library.processors())
        self._context = LlamaContext(model, n_ctx=n_ctx, sequences=1, tuning=tuning, threads=threads)
        self._sampler = Sampler(model, Sampling(temperature=0))
        self._best_read = self._best_write = math.inf
        self.close = self._context.close

    @property
    def layout(self) -> tuple[bool, str]:
        """Contexts of one layout understand each other's states."""
        return self.tuning.flash_attention, self.tuning.cache_type

    def read(self, tokens: Sequence[int], patience: float) -> bytes:
        """The state after the conversation so far, or after as much of it as there is patience for."""
        end = time.monotonic() + patience
        length = _FIRST_STEP
        while self.prefilled < len(tokens):
            step = tokens[self.prefilled : self.prefilled + length]
            self._decode(step, self.prefilled)
            self.prefilled += len(step)
            length = min(2 * length, self.tuning.n_batch)
            if time.monotonic() > end:
                break
        return self._context.save(0)

    def take_over(self, state: bytes, prefilled: int) -> None:
        """Hold the conversation of `prefilled` tokens that `state` comes from."""
        self._state, self.prefilled = state, prefilled
        self._context.restore(0, state)

    def warm_up(self) -> None:
        """Write a little, and so find out whether the machine is quiet before the long part begins.

        Raises:
            ModelError: other programs use the processors.
        """
        self._write(self._decode(self._new[:1], 0), 1)
        self._context.truncate(0, 0)

    def time_once(self) -> None:
        """Read a message and write an answer, and forget both.

        Raises:
            ModelError: other programs use the processors.
        """
        started = time.perf_counter()
        token = self._decode(self._new, self.prefilled)
        read = time.perf_counter()
        self._write(token, self.prefilled + len(self._new))
        written = time.perf_counter()
        self._best_read = min(self._best_read, read - started)
        self._best_write = min(self._best_write, written - read)
        if not self._context.truncate(0, self.prefilled):
            self._context.restore(0, self._state)

    def measured(self) -> Measured:
        """The best timings so far."""
        return Measured(self.tuning, len(self._new) / self._best_read, _WRITE / self._best_write)

    def _write(self, token: int, start: int) -> None:
        """An answer from position `start` on."""
        began, worked = time.perf_counter(), time.process_time()
        for position in range(start, start + _WRITE):
            token = self._decode([token], position)
            _check_share(time.process_time() - worked, time.perf_counter() - began, self.tuning)

    def _decode(self, tokens: Sequence[int], start: int) -> int:
        """Compute the tokens from position `start` on; the token that follows."""
        last = len(tokens) - 1
        rows = [BatchToken(token, start + place, 0, place == last) for place, token in enumerate(tokens)]
        self._context.decode(rows, None)
        return self._context.choose(last, self._sampler)


def _check_share(worked: float, seconds: float, tuning: Tuning) -> None:
    """Refuse to go on while others compute too: threads that wait for each other then wait for minutes.

    Raises:
        ModelError: the threads were at work for too small a part of the time.
    """
    share = worked / (seconds * (tuning.n_threads or library.processors()))
    if seconds > _JUDGED_AFTER and share < _QUIET:
        raise ModelError(
            f"Other programs leave only {share:.0%} of the processors, so nothing can be measured now; "
            "try again when the machine is quiet."
        )
