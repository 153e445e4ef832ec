"""Calibration: measures which settings are fastest on this machine, with a short conversation."""

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
"""Tokens that precede the timed part, like a persona and some turns."""
_FIRST_STEP = 50
"""Tokens of the first prefill step; each further step has twice as many."""
_READ, _WRITE = 40, 12
"""Tokens that one timing prefills and decodes."""
_TURN_READ, _TURN_WRITE = 120, 32
"""Tokens that an average turn of a conversation prefills and decodes."""
_ROUNDS = 2
"""The fewest timings of each candidate; the first one also warms up caches."""
_STILL_OPEN = 1.15
"""A candidate that is slower than this multiple of the best time is not timed again."""
_JUDGED_AFTER = 0.5
"""Seconds; a single interruption may distort shorter measurements."""
_QUIET = 0.75
"""The share of the processors' time that a measurement must get."""
_WORTH_CHANGING = 0.95
"""The share of the defaults' time that is a clear gain; a smaller gain may be chance."""


@dataclass(frozen=True)
class Measured:
    """A candidate's settings and its best timings."""

    tuning: Tuning
    read_per_second: float
    """Prefilled tokens per second."""
    write_per_second: float
    """Decoded tokens per second."""

    @property
    def turn_seconds(self) -> float:
        """Seconds of an average turn of a conversation."""
        return _TURN_READ / self.read_per_second + _TURN_WRITE / self.write_per_second


@dataclass(frozen=True)
class CalibratedTuning:
    """The result of a calibration."""

    tuning: Tuning
    """The settings to use from now on."""
    chosen: Measured
    """The candidate that was chosen."""
    candidates: tuple[Measured, ...]
    """All candidates, the defaults first."""

    @property
    def gain(self) -> float:
        """The share of the defaults' time that the chosen candidate saves."""
        return 1 - self.chosen.turn_seconds / self.candidates[0].turn_seconds


def calibrate(
    path: Path, *, progress: Callable[[str], None] | None = None, seconds: float = 8.0
) -> CalibratedTuning:
    """Measure candidate settings for a model on the processor; the result is not stored.

    Args:
        path: a GGUF file.
        progress: called with a description of each step.
        seconds: approximate time limit; a large model may take longer.

    Raises:
        ModelError: the model cannot be loaded, there is not enough memory for its context, or the machine
            is too busy to measure.
    """
    report = progress or (lambda _: None)
    end = time.monotonic() + seconds
    files = _files(path)
    with ExitStack() as stack:
        report(f"Reading a conversation with {path.name}")
        opened = _enter(files, stack, patience=seconds / 6)
        _race(opened, end, report)
        measured = tuple(candidate.measured() for candidate in opened)
    chosen = choose(measured)
    # Keep the default format if it could not be tried, for example on a full disk.
    weights = chosen.tuning.weights if len(files) > 1 else default_tuning(path).weights
    return CalibratedTuning(replace(chosen.tuning, weights=weights), chosen, measured)


def choose(measured: Sequence[Measured]) -> Measured:
    """The fastest candidate if it is clearly faster than the first, which has the defaults."""
    fastest = min(measured, key=lambda candidate: candidate.turn_seconds)
    gains = fastest.turn_seconds <= _WORTH_CHANGING * measured[0].turn_seconds
    return fastest if gains else measured[0]


def candidates(formats: Sequence[Format]) -> list[Tuning]:
    """The settings to try on this processor, the defaults first.

    Args:
        formats: the available formats of the weights, the default one first.
    """
    layouts: list[tuple[bool, Literal["f16", "bf16"]]] = [(False, "f16"), (True, "f16")]
    if "AVX512_BF16" in library.features() or platform.machine().lower() not in _X86:
        # Other x86 processors convert each number first. With flash attention, bf16 is always slow.
        layouts.append((False, "bf16"))
    # Two threads on one core often slow each other down.
    threads = [0, library.processors() // 2] if library.processors() > 2 else [0]
    return [
        Tuning(flash_attention=flash, cache_type=cache_type, n_threads=n_threads, weights=weights)
        for weights, (flash, cache_type), n_threads in product(formats, layouts, threads)
    ]


def _files(path: Path) -> dict[Format, Path]:
    """The file of each available format of the weights, the default one first."""
    if default_tuning(path).weights == "original":
        return {"original": path}
    converted = fastest_weights(path, "q8_0")
    return {"original": path} if converted == path else {"q8_0": converted, "original": path}


def _enter(files: Mapping[Format, Path], stack: ExitStack, *, patience: float) -> "list[_Candidate]":
    """Open all candidates. One of each layout prefills the conversation, and the others copy its state."""
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
            continue  # not every model supports flash attention
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


def _race(entrants: Sequence["_Candidate"], end: float, on_progress: Callable[[str], None]) -> None:
    """Time all candidates in several rounds, because a machine's speed drifts; the best timings count."""
    racing, done, took = list(entrants), 0, 0.0
    while done < _ROUNDS or time.monotonic() + took < end:
        started = time.monotonic()
        done += 1
        on_progress(f"Timing {len(racing)} candidates, round {done}")
        # Alternate the order, so that a gradual slowdown of the machine favours no candidate.
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
    """A candidate with its own context, which holds a conversation."""

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
        """The settings that two contexts must share to load each other's states."""
        return self.tuning.flash_attention, self.tuning.cache_type

    def read(self, tokens: Sequence[int], patience: float) -> bytes:
        """Prefill the conversation, or as much as fits into `patience` seconds, and return the state."""
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
        """Load the state of another candidate, which has `prefilled` tokens."""
        self._state, self.prefilled = state, prefilled
        self._context.restore(0, state)

    def warm_up(self) -> None:
        """Decode a few tokens, to check early whether the machine is idle.

        Raises:
            ModelError: other programs use the processors.
        """
        self._write(self._decode(self._new[:1], 0), 1)
        self._context.truncate(0, 0)

    def time_once(self) -> None:
        """Time the prefill of a message and the decoding of an answer, then remove both.

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
        """Decode an answer from position `start` on."""
        began, worked = time.perf_counter(), time.process_time()
        for position in range(start, start + _WRITE):
            token = self._decode([token], position)
            _check_share(time.process_time() - worked, time.perf_counter() - began, self.tuning)

    def _decode(self, tokens: Sequence[int], start: int) -> int:
        """Compute the tokens from position `start` on, and return the token that follows."""
        last = len(tokens) - 1
        rows = [BatchToken(token, start + place, 0, place == last) for place, token in enumerate(tokens)]
        self._context.decode(rows, None)
        return self._context.choose(last, self._sampler)


def _check_share(worked: float, seconds: float, tuning: Tuning) -> None:
    """Raise if other programs compute, because threads that wait for each other would take minutes.

    Raises:
        ModelError: the threads got too small a share of the processors.
    """
    share = worked / (seconds * (tuning.n_threads or library.processors()))
    if seconds > _JUDGED_AFTER and share < _QUIET:
        raise ModelError(
            f"Other programs leave only {share:.0%} of the processors, so nothing can be measured now; "
            "try again when the machine is less busy."
        )
