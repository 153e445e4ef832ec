"""The engine's jobs: answers, scores and prefetched prompts. Each is a list of tokens to compute."""

import codecs
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np

from rolellm_agents.errors import AnswerFormatError, ModelError
from rolellm_agents.models.llamacpp.engine.context import Context
from rolellm_agents.models.llamacpp.engine.kv_cache import CachedSequence
from rolellm_agents.models.llamacpp.engine.sampling import Sampler, Sampling
from rolellm_agents.models.prefill import PrefillProgress
from rolellm_agents.models.stop_strings import StoppingText

_SHORT_PREFILL: Final = 0.5
"""Seconds after a request during which its prefill is not reported."""

Reason = Literal["stop", "length", "cancelled"]
"""Why an answer ended: an end token or stop string, a length limit, or a cancellation."""


@dataclass(frozen=True)
class Finished:
    """The last item of an answer's stream."""

    reason: Reason
    prompt_tokens: int
    reused_tokens: int
    """Prompt tokens that were in the KV cache or in the prompt cache."""
    completion_tokens: int
    first_token_s: float
    """Seconds from the request to the first token; 0 without tokens."""


StreamItem = str | Finished | ModelError
"""A piece of text; the last item is `Finished` or an error."""


class Vocabulary(Protocol):
    """Maps tokens to text."""

    def bytes_of(self, token: int) -> bytes:
        """A token's text in UTF-8, possibly a part of a character."""

    def is_end(self, token: int) -> bool:
        """Whether the token ends an answer."""


class Job:
    """Tokens to compute in one sequence with one adapter. `cancel` is thread-safe."""

    urgent = True

    def __init__(
        self, tokens: Sequence[int], adapter: str | None, *, first_logits: int, cacheable: int = 0
    ) -> None:
        """Create a job without computed tokens.

        The adapter has LoRA weights, by `LlamaModel.load_adapter`'s name. `first_logits` is the index of
        the first token whose logits are needed, `cacheable` the length of the prefix that belongs into the
        prompt cache.
        """
        self.tokens = list(tokens)
        self.adapter = adapter
        self.first_logits = first_logits
        self.cacheable = min(cacheable, first_logits)
        self.number = 0
        self._sequence: CachedSequence | None = None
        self.computed = 0
        self.reused = 0
        self.last_step = 0
        self.checkpoint = 0
        """Where prefill pauses, so that the state goes into the prompt cache; 0 for nowhere."""
        self.prefix_source: Job | None = None
        """A running job that computes a prefix of this prompt; this job waits in order to copy it."""
        self.shared_prefix = 0
        """The length of that prefix."""
        self.cancelled = False
        self.done = False

    @property
    def is_waiting(self) -> bool:
        """Whether the job has no sequence yet."""
        return self._sequence is None

    @property
    def sequence(self) -> CachedSequence:
        """The job's sequence, once it runs."""
        if self._sequence is None:
            raise RuntimeError("the job has no sequence yet")
        return self._sequence

    @sequence.setter
    def sequence(self, sequence: CachedSequence) -> None:
        self._sequence = sequence

    @property
    def is_paused(self) -> bool:
        """Whether the job waits for the logits of another job."""
        return False

    @property
    def remaining(self) -> int:
        """Tokens to compute before the next checkpoint or output."""
        end = self.checkpoint if self.computed < self.checkpoint else len(self.tokens)
        return end - self.computed

    @property
    def max_length(self) -> int:
        """The sequence's final length in tokens, at most."""
        return len(self.tokens)

    def wait_again(self) -> None:
        """Give the sequence back before anything was computed in it."""
        self._sequence = None
        self.computed = self.reused = self.checkpoint = 0

    def recompute_from(self, kept: int) -> None:
        """Continue after all but the first `kept` tokens were lost."""
        self.computed = kept
        # Logits that were processed before are not needed again.
        self.first_logits = max(self.first_logits, self.next_output)

    @property
    def next_output(self) -> int:
        """Index of the first token whose logits were not processed yet."""
        return len(self.tokens) - 1

    def cancel(self) -> None:
        """End the job within one step."""
        self.cancelled = True

    def report_prefill(self) -> None:
        """Tell how much of the prompt is computed, if somebody wants to know."""

    def process_logits(self, context: Context, row: int) -> None:
        """Use the logits of row `row` of the last batch."""

    def end(self) -> None:
        """Called when the job is cancelled or complete."""
        self.done = True

    def fail(self, error: ModelError) -> None:
        """Called when the job cannot be computed."""
        self.done = True


class PrefillJob(Job):
    """Prefetch of a prompt that a later request will probably have."""

    urgent = False

    def __init__(self, tokens: Sequence[int], adapter: str | None, *, cacheable: int = 0) -> None:
        """Compute `tokens` when no urgent job is pending."""
        super().__init__(tokens, adapter, first_logits=len(tokens), cacheable=cacheable)


class ScoringJob(Job):
    """The log-probabilities of a given continuation."""

    def __init__(self, prompt: Sequence[int], continuation: Sequence[int], adapter: str | None) -> None:
        """`result` gets one natural logarithm for each token of `continuation`."""
        # The logits of the last token are not needed.
        super().__init__([*prompt, *continuation[:-1]], adapter, first_logits=len(prompt) - 1)
        self.result: Future[list[float]] = Future()
        # From now on the future cannot be cancelled: setting a cancelled future's result would raise.
        self.result.set_running_or_notify_cancel()
        self._continuation = list(continuation)
        self._scores: list[float] = []
        self._first = self.first_logits

    @property
    def next_output(self) -> int:
        """See `Job`."""
        return self._first + len(self._scores)

    def process_logits(self, context: Context, row: int) -> None:
        """Look up the log-probability of the continuation's next token."""
        self._scores.append(float(context.log_probabilities(row)[self._continuation[len(self._scores)]]))
        if len(self._scores) == len(self._continuation):
            self.result.set_result(self._scores)
            self.done = True

    def end(self) -> None:
        """See `Job`."""
        self.fail(ModelError("The model was closed before the score was computed."))

    def fail(self, error: ModelError) -> None:
        """See `Job`; the error becomes the future's exception."""
        super().fail(error)
        self.result.set_exception(error)


class NeutralJob(Job):
    """The answer of another job after a neutral prompt; it lives as long as that job."""

    def __init__(self, answer: "AnswerJob", prompt: Sequence[int]) -> None:
        """Compute `prompt`, and then each token that `answer` chooses."""
        super().__init__(prompt, answer.adapter, first_logits=len(prompt) - 1)
        self.answer = answer
        self.logits: np.ndarray | None = None
        """The logits of the next token, until the answer has chosen it."""
        self._room = answer.max_length - len(answer.tokens)

    @property
    def max_length(self) -> int:
        """See `Job`."""
        return len(self.tokens) + self._room

    @property
    def is_paused(self) -> bool:
        """See `Job`."""
        return self.logits is not None

    def recompute_from(self, kept: int) -> None:
        """See `Job`; the logits are computed again, too."""
        self.logits = None
        super().recompute_from(kept)

    def process_logits(self, context: Context, row: int) -> None:
        """Keep the logits for the answer."""
        self.logits = context.logits(row)
        self.answer.contrast()

    def end(self) -> None:
        """See `Job`; the answer cannot go on without it."""
        super().end()
        if not self.answer.done:
            self.answer.end()

    def fail(self, error: ModelError) -> None:
        """See `Job`; the answer fails, too."""
        super().fail(error)
        if not self.answer.done:
            self.answer.fail(error)


class AnswerJob(Job):
    """A prompt and the generated answer."""

    def __init__(
        self,
        prompt: Sequence[int],
        adapter: str | None,
        *,
        sampling: Sampling,
        sampler: Sampler,
        vocabulary: Vocabulary,
        n_ctx: int,
        on_item: Callable[[StreamItem], None],
        on_prefill: Callable[[PrefillProgress], object] | None = None,
        cacheable: int = 0,
        neutral: Sequence[int] = (),
    ) -> None:
        """Create a job that calls `on_item` and `on_prefill` from the engine's thread; they must not block.

        `neutral` is a prompt with whose logits each token is contrasted; empty for none.
        """
        super().__init__(prompt, adapter, first_logits=len(prompt) - 1, cacheable=cacheable)
        self._prompt_tokens = len(prompt)
        self._max_output = n_ctx - max(len(prompt), len(neutral))
        self._limit = min(sampling.max_tokens, self._max_output)
        self._constrained = bool(sampling.grammar)
        self._sampler = sampler
        self._vocabulary = vocabulary
        self._on_item = on_item
        self._on_prefill = on_prefill
        self._n_generated = 0
        self._submitted_at = time.perf_counter()
        self._first_token_s = 0.0
        self._text = StoppingText(sampling.stop)
        self._logits: np.ndarray | None = None
        self.neutral = NeutralJob(self, neutral) if len(neutral) else None
        """Computes the neutral prompt's logits for the same answer."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def max_length(self) -> int:
        """See `Job`; includes the longest allowed answer."""
        return self._prompt_tokens + self._limit

    def report_prefill(self) -> None:
        """See `Job`."""
        waited = time.perf_counter() - self._submitted_at
        if (
            self._on_prefill
            and not self._n_generated
            and self.computed < self._prompt_tokens
            and waited >= _SHORT_PREFILL
        ):
            with suppress(RuntimeError):  # the consumer's event loop is closed, as `_emit` will find
                self._on_prefill(PrefillProgress(self.computed, self._prompt_tokens))

    def process_logits(self, context: Context, row: int) -> None:
        """Sample the next token and emit the text that no stop string can revoke."""
        if self.neutral is not None:
            self._logits = context.logits(row)
            self.contrast()
            return
        # Constrained output is closed even beyond the limit, because half a JSON object is useless.
        overtime = self._constrained and self._n_generated >= self._limit
        choose = context.choose_nearest_end if overtime else context.choose
        self._take(choose(row, self._sampler), overtime=overtime)

    @property
    def is_paused(self) -> bool:
        """See `Job`."""
        return self._logits is not None

    def recompute_from(self, kept: int) -> None:
        """See `Job`; the logits are computed again, too."""
        self._logits = None
        super().recompute_from(kept)

    def contrast(self) -> None:
        """Sample the next token as soon as the logits of both prompts are known."""
        neutral = self.neutral
        if neutral is None or neutral.logits is None or self._logits is None:
            return
        token = self._sampler.choose_contrasted(self._logits, neutral.logits)
        self._logits = neutral.logits = None
        neutral.tokens.append(token)
        self._take(token, overtime=False)

    def _take(self, token: int, *, overtime: bool) -> None:
        self._first_token_s = self._first_token_s or time.perf_counter() - self._submitted_at
        if self._vocabulary.is_end(token):
            self._finish("length" if overtime else "stop")
            return
        self._n_generated += 1
        self._emit(self._text.push(self._decoder.decode(self._vocabulary.bytes_of(token))))
        if self._text.stopped:
            self._finish("stop")
        elif self._constrained and self._n_generated >= self._max_output:
            self.fail(
                AnswerFormatError(
                    "The prescribed format does not fit into the context; use a smaller schema."
                )
            )
        elif self._n_generated >= self._limit and not self._constrained:
            self._finish("length")
        else:
            self.tokens.append(token)

    def end(self) -> None:
        """See `Job`; text that was emitted before remains valid."""
        self._finish("cancelled")

    def fail(self, error: ModelError) -> None:
        """See `Job`; the error is the last item."""
        super().fail(error)
        self._emit(error)

    def _finish(self, reason: Reason) -> None:
        self.done = True
        self._emit(self._text.push(self._decoder.decode(b"", final=True)) + self._text.rest())
        self._emit(
            Finished(reason, self._prompt_tokens, self.reused, self._n_generated, self._first_token_s)
        )

    def _emit(self, item: StreamItem) -> None:
        if item == "":
            return
        try:
            self._on_item(item)
        except RuntimeError:
            # The consumer's event loop is closed.
            self.cancel()
