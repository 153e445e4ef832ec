"""What the engine works on: answers, scores, and reading ahead. Each is a run of tokens to compute."""

import codecs
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal, Protocol

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.engine.context import Context
from rolellm_agents.models.llamacpp.engine.kv_cache import CachedSequence
from rolellm_agents.models.llamacpp.engine.sampling import Sampler, Sampling
from rolellm_agents.models.stopping import StoppingText

Reason = Literal["stop", "length", "cancelled"]
"""Why an answer ended: the model or a stop string, a limit, or somebody who asked for it."""


@dataclass(frozen=True)
class Finished:
    """The last thing heard of an answer."""

    reason: Reason
    prompt_tokens: int
    reused_tokens: int
    """Of the prompt's tokens, those that were resident or on disk already."""
    completion_tokens: int
    first_token_s: float
    """Seconds from the request to the first token; 0 when there was none."""


StreamItem = str | Finished | ModelError
"""What comes of a request: pieces of text, then `Finished`; or an error, which is the last thing too."""


class Vocabulary(Protocol):
    """What an answer needs to know of its tokens."""

    def bytes_of(self, token: int) -> bytes:
        """A token's text, possibly a part of a character."""

    def is_end(self, token: int) -> bool:
        """Whether the token ends an answer."""


class Job:
    """Tokens to compute, in one sequence, with one adapter. `cancel` may come from any thread."""

    urgent = True

    def __init__(
        self, tokens: Sequence[int], adapter: str | None, *, first_wanted: int, fixed: int = 0
    ) -> None:
        """Nothing is computed yet.

        Args:
            tokens: what the sequence will hold.
            adapter: LoRA weights to compute with, by `LlamaModel.load_adapter`'s name.
            first_wanted: from this token on, what follows is asked for.
            fixed: the first tokens that will come again and are worth keeping on disk.
        """
        self.tokens = list(tokens)
        self.adapter = adapter
        self.first_wanted = first_wanted
        self.fixed = min(fixed, first_wanted)
        self.number = 0
        self._sequence: CachedSequence | None = None
        self.read = 0
        self.reused = 0
        self.last_step = 0
        self.stop_at = 0
        """Where reading pauses, so that the state there can be kept."""
        self.reader: Job | None = None
        """A job that reads the beginning of the same prompt, for which this one waits."""
        self.reader_shares = 0
        """How many tokens of it."""
        self.cancelled = False
        self.done = False

    @property
    def is_waiting(self) -> bool:
        """Whether it has no sequence yet."""
        return self._sequence is None

    @property
    def sequence(self) -> CachedSequence:
        """Where it is computed, when it does not wait."""
        if self._sequence is None:
            raise RuntimeError("the job has no sequence yet")
        return self._sequence

    @sequence.setter
    def sequence(self, sequence: CachedSequence) -> None:
        self._sequence = sequence

    @property
    def unread(self) -> int:
        """Tokens to compute next."""
        end = self.stop_at if self.read < self.stop_at else len(self.tokens)
        return end - self.read

    @property
    def room(self) -> int:
        """Tokens that its sequence will come to."""
        return len(self.tokens)

    def read_again(self, held: int) -> None:
        """Go on although only the first `held` tokens are still there."""
        self.read = held
        # What follows the tokens before the last one was taken already.
        self.first_wanted = max(self.first_wanted, self.unknown_after)

    @property
    def unknown_after(self) -> int:
        """The first token of which it is not known yet what follows."""
        return len(self.tokens) - 1

    def cancel(self) -> None:
        """End it within one step."""
        self.cancelled = True

    def take(self, context: Context, row: int) -> None:
        """Use what follows a wanted token, which is row `row` of the batch just computed."""

    def end(self) -> None:
        """It was cancelled, or all is read."""
        self.done = True

    def fail(self, error: ModelError) -> None:
        """It cannot be computed."""
        self.done = True


class PrefillJob(Job):
    """Read ahead, for an answer that will be asked for."""

    urgent = False

    def __init__(self, tokens: Sequence[int], adapter: str | None, *, fixed: int = 0) -> None:
        """Read `tokens` when nothing else is to do."""
        super().__init__(tokens, adapter, first_wanted=len(tokens), fixed=fixed)


class ScoringJob(Job):
    """The log-probabilities of a given continuation."""

    def __init__(self, prompt: Sequence[int], continuation: Sequence[int], adapter: str | None) -> None:
        """`result` gets one natural logarithm for each token of `continuation`."""
        # What follows the last token is nobody's question.
        super().__init__([*prompt, *continuation[:-1]], adapter, first_wanted=len(prompt) - 1)
        self.result: Future[list[float]] = Future()
        # Nobody can cancel it any more: a result for a cancelled future would end the engine's thread.
        self.result.set_running_or_notify_cancel()
        self._ahead = list(continuation)
        self._found: list[float] = []
        self._first = self.first_wanted

    @property
    def unknown_after(self) -> int:
        """See `Job`."""
        return self._first + len(self._found)

    def take(self, context: Context, row: int) -> None:
        """Look up the next token of the continuation."""
        self._found.append(float(context.log_probabilities(row)[self._ahead[len(self._found)]]))
        if len(self._found) == len(self._ahead):
            self.result.set_result(self._found)
            self.done = True

    def end(self) -> None:
        """Cancelled."""
        self.fail(ModelError("The model was closed before the score was there."))

    def fail(self, error: ModelError) -> None:
        """Tell whoever waits for the result."""
        super().fail(error)
        self.result.set_exception(error)


class AnswerJob(Job):
    """A prompt and what the model writes after it."""

    def __init__(
        self,
        prompt: Sequence[int],
        adapter: str | None,
        *,
        sampling: Sampling,
        sampler: Sampler,
        vocabulary: Vocabulary,
        n_ctx: int,
        hear: Callable[[StreamItem], None],
        fixed: int = 0,
    ) -> None:
        """`hear` is called from the engine's thread and must return at once."""
        super().__init__(prompt, adapter, first_wanted=len(prompt) - 1, fixed=fixed)
        self._prompt_tokens = len(prompt)
        self._limit = min(sampling.max_tokens, n_ctx - len(prompt))
        self._room = n_ctx - len(prompt)
        self._in_form = bool(sampling.grammar)
        self._sampler = sampler
        self._vocabulary = vocabulary
        self._hear = hear
        self._written = 0
        self._began = time.perf_counter()
        self._first_token_s = 0.0
        self._text = StoppingText(sampling.stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def room(self) -> int:
        """See `Job`; the longest answer that is allowed counts."""
        return self._prompt_tokens + self._limit

    def take(self, context: Context, row: int) -> None:
        """Choose the next token and tell its text, as far as it is sure."""
        # A prescribed form is brought to its end even past the limit: half a JSON object is none.
        overtime = self._in_form and self._written >= self._limit
        choose = context.choose_nearest_end if overtime else context.choose
        token = choose(row, self._sampler)
        self._first_token_s = self._first_token_s or time.perf_counter() - self._began
        if self._vocabulary.is_end(token):
            self._finish("length" if overtime else "stop")
            return
        self._written += 1
        self._tell(self._text.push(self._decoder.decode(self._vocabulary.bytes_of(token))))
        if self._text.stopped:
            self._finish("stop")
        elif self._in_form and self._written >= self._room:
            self.fail(ModelError("The prescribed form does not fit into the context; ask for less."))
        elif self._written >= self._limit and not self._in_form:
            self._finish("length")
        else:
            self.tokens.append(token)

    def end(self) -> None:
        """Cancelled: what was said so far stands."""
        self._finish("cancelled")

    def fail(self, error: ModelError) -> None:
        """Tell the error as the last thing."""
        super().fail(error)
        self._tell(error)

    def _finish(self, reason: Reason) -> None:
        self.done = True
        self._tell(self._text.push(self._decoder.decode(b"", final=True)) + self._text.rest())
        self._tell(Finished(reason, self._prompt_tokens, self.reused, self._written, self._first_token_s))

    def _tell(self, heard: StreamItem) -> None:
        if heard == "":
            return
        try:
            self._hear(heard)
        except RuntimeError:
            # The listener's event loop is closed: nobody listens any more.
            self.cancel()
