"""llama.cpp's low-level API as a small object: one model, one context, one answer at a time.

`llama_cpp.Llama` is not used because it cannot switch llama.cpp's extra buffers off, which crash on
processors with AMX (ggml-org/llama.cpp#20824); `docs/design/models.md` says more.
"""

import codecs
import ctypes
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import llama_cpp

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.template import CHATML, ChatTemplate
from rolellm_agents.models.stopping import StoppingText

_READ_AT_ONCE = 256
"""Prompt tokens between two looks at whether somebody wants to stop."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen, in llama.cpp's terms, and when to end."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repeat_penalty: float
    seed: int
    max_tokens: int
    stop: tuple[str, ...] = ()


Reason = Literal["stop", "length", "cancelled"]
"""Why an answer ended: the model or a stop string, a limit, or somebody who asked for it."""


@dataclass(frozen=True)
class Finished:
    """The last thing `LlamaRuntime.generate` yields."""

    reason: Reason
    prompt_tokens: int
    reused_tokens: int
    """Of the prompt's tokens, those still in the cache from the answer before."""
    completion_tokens: int


class LlamaRuntime:
    """A loaded model file. Threads may share it: one answers, the others wait."""

    def __init__(self, path: Path, *, n_ctx: int, n_threads: int, n_gpu_layers: int) -> None:
        """Load the file.

        Args:
            path: a GGUF file.
            n_ctx: the wanted context in tokens; the model's own training context bounds it.
            n_threads: threads to compute with; 0 takes one for each processor this process may use.
            n_gpu_layers: layers to put on a GPU, when llama.cpp was built for one.

        Raises:
            ModelError: llama.cpp cannot load the file, or there is no memory for the context.
        """
        _LOG.listen()
        self._lock = threading.Lock()
        self._model = _load_model(path, n_gpu_layers)
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.n_ctx = min(n_ctx, llama_cpp.llama_model_n_ctx_train(self._model))
        try:
            self._context = _make_context(self._model, path, self.n_ctx, n_threads)
        except ModelError:
            llama_cpp.llama_model_free(self._model)
            raise
        self._resident: list[int] = []  # the tokens whose keys and values the context holds
        self._close = weakref.finalize(self, _free, self._context, self._model)
        self.template = ChatTemplate(
            self._metadata("tokenizer.chat_template") or CHATML,
            bos=self._piece_of_special(llama_cpp.llama_vocab_bos(self._vocab)),
            eos=self._piece_of_special(llama_cpp.llama_vocab_eos(self._vocab)),
        )

    def close(self) -> None:
        """Give the memory back; waits for a running answer."""
        with self._lock:
            self._close()

    def tokenize(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """The model's tokens for `text`.

        Args:
            text: any text.
            add_special: put the model's beginning-of-text token first, if it wants one.
            parse_special: read `<|…|>` marks as control tokens and not as text.
        """
        encoded = text.encode("utf-8", errors="replace")
        room = len(encoded) + 2
        tokens = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(
            self._vocab, encoded, len(encoded), tokens, room, add_special, parse_special
        )
        return list(tokens[:count])

    def is_control_text(self, text: str) -> bool:
        """Whether the vocabulary would read `text`, whole, as a control token."""
        tokens = self.tokenize(text, add_special=False)
        return len(tokens) == 1 and llama_cpp.llama_vocab_is_control(self._vocab, tokens[0])

    def prompt_tokens(self, text: str) -> list[int]:
        """The tokens of a rendered prompt, without a second beginning mark if it brings its own."""
        bos = self._piece_of_special(llama_cpp.llama_vocab_bos(self._vocab))
        return self.tokenize(text, add_special=not (bos and text.startswith(bos)))

    def generate(
        self, prompt: Sequence[int], sampling: Sampling, should_stop: Callable[[], bool]
    ) -> Iterator[str | Finished]:
        """Read `prompt` and yield the answer's text as it comes, then a `Finished`.

        No piece ends inside a character, and no stop string is ever yielded, not even in parts.

        Args:
            prompt: at least one token, fewer than `n_ctx`.
            sampling: how to choose tokens and when to end.
            should_stop: asked between the steps; when true the answer ends as cancelled.

        Raises:
            ModelError: llama.cpp failed to compute.
        """
        with self._lock:
            sampler = _make_sampler(self._vocab, sampling)
            try:
                yield from self._answer(list(prompt), sampler, sampling, should_stop)
            finally:
                llama_cpp.llama_sampler_free(sampler)

    def _answer(
        self, prompt: list[int], sampler: Any, sampling: Sampling, should_stop: Callable[[], bool]
    ) -> Iterator[str | Finished]:
        reused = self._keep_common_prefix(prompt)
        text = StoppingText(sampling.stop)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        limit = min(sampling.max_tokens, self.n_ctx - len(prompt))
        written = 0
        reason = self._read_in_steps(prompt[reused:], should_stop)
        while reason is None:
            word, reason = self._write(sampler, written + 1 == limit, should_stop)
            piece = text.push(decoder.decode(word))
            if text.stopped:
                reason = "stop"
            written += reason != "cancelled"
            if piece:
                yield piece
        if rest := text.rest():
            yield rest
        yield Finished(reason, len(prompt), reused, written)

    def _read_in_steps(self, tokens: list[int], should_stop: Callable[[], bool]) -> Reason | None:
        for start in range(0, len(tokens), _READ_AT_ONCE):
            if should_stop():
                return "cancelled"
            self._read(tokens[start : start + _READ_AT_ONCE])
        return None

    def _write(
        self, sampler: Any, is_last: bool, should_stop: Callable[[], bool]
    ) -> tuple[bytes, Reason | None]:
        """Choose one token; its bytes, and why it is the last one, if it is."""
        if should_stop():
            return b"", "cancelled"
        token = llama_cpp.llama_sampler_sample(sampler, self._context, -1)
        if llama_cpp.llama_vocab_is_eog(self._vocab, token):
            return b"", "stop"
        if is_last:
            return self._bytes_of(token), "length"
        self._read([token])
        return self._bytes_of(token), None

    def _keep_common_prefix(self, prompt: list[int]) -> int:
        """Drop what is resident beyond the prefix shared with `prompt`; return the prefix's length."""
        common = 0
        for resident, wanted in zip(self._resident, prompt[:-1], strict=False):
            if resident != wanted:
                break
            common += 1
        memory = llama_cpp.llama_get_memory(self._context)
        if not llama_cpp.llama_memory_seq_rm(memory, 0, common, -1):
            # Recurrent models cannot step back to a place in the middle.
            llama_cpp.llama_memory_clear(memory, True)
            common = 0
        del self._resident[common:]
        return common

    def _read(self, tokens: list[int]) -> None:
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        failed = llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(array, len(tokens)))
        if failed:
            llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), True)
            self._resident.clear()
            raise ModelError(f"llama.cpp could not go on (code {failed}): {_LOG.first_complaint()}")
        self._resident.extend(tokens)

    def _bytes_of(self, token: int, *, special: bool = False) -> bytes:
        buffer = ctypes.create_string_buffer(256)
        length = llama_cpp.llama_token_to_piece(
            self._vocab, token, ctypes.cast(buffer, ctypes.c_char_p), len(buffer), 0, special
        )
        return buffer.raw[: max(length, 0)]

    def _piece_of_special(self, token: int) -> str:
        return "" if token < 0 else self._bytes_of(token, special=True).decode("utf-8", "replace")

    def _metadata(self, key: str) -> str:
        size = llama_cpp.llama_model_meta_val_str(self._model, key.encode(), b"", 0)
        if size < 0:
            return ""
        buffer = ctypes.create_string_buffer(size + 1)
        llama_cpp.llama_model_meta_val_str(self._model, key.encode(), buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")


def model_params(n_gpu_layers: int) -> Any:
    """llama.cpp's parameters for loading, with its extra buffers off: with AMX they crash."""
    params = llama_cpp.llama_model_default_params()
    params.use_extra_bufts = False
    params.n_gpu_layers = n_gpu_layers
    return params


def _load_model(path: Path, n_gpu_layers: int) -> Any:
    _LOG.forget()
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), model_params(n_gpu_layers))
    if not model:
        raise ModelError(
            f"llama.cpp cannot load {path}: {_LOG.first_complaint()}; the file may be cut short or "
            "damaged, so fetch it again, or use another model."
        )
    return model


def _make_context(model: Any, path: Path, n_ctx: int, n_threads: int) -> Any:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = n_ctx
    params.n_batch = params.n_ubatch = _READ_AT_ONCE
    params.n_threads = params.n_threads_batch = n_threads or _processors()
    # On a processor flash attention costs a third of the writing speed (docs/experiments.md).
    params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        raise ModelError(
            f"There is not enough memory for a context of {n_ctx:,} tokens with {path.name}; "
            f"set a smaller n_ctx for it in models.toml."
        )
    return context


def _processors() -> int:
    """How many this process may use; containers and taskset often grant fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _make_sampler(vocab: Any, sampling: Sampling) -> Any:
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    n_vocab = llama_cpp.llama_vocab_n_tokens(vocab)
    steps = [llama_cpp.llama_sampler_init_penalties(n_vocab, 128, sampling.repeat_penalty, 0.0, 0.0)]
    if sampling.temperature > 0:
        steps += [
            llama_cpp.llama_sampler_init_top_k(sampling.top_k),
            llama_cpp.llama_sampler_init_top_p(sampling.top_p, 1),
            llama_cpp.llama_sampler_init_min_p(sampling.min_p, 1),
            llama_cpp.llama_sampler_init_temp(sampling.temperature),
            llama_cpp.llama_sampler_init_dist(sampling.seed),
        ]
    else:
        steps.append(llama_cpp.llama_sampler_init_greedy())
    for step in steps:
        llama_cpp.llama_sampler_chain_add(chain, step)
    return chain


def _free(context: Any, model: Any) -> None:
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)


class _Log:
    """llama.cpp's log, which would otherwise flood the screen; its complaints are kept."""

    _WARNING, _ERROR, _CONTINUED = 3, 4, 5

    def __init__(self) -> None:
        self._complaints: deque[str] = deque(maxlen=20)
        self._complaining = False
        self._callback = llama_cpp.llama_log_callback(self._hear)
        self._lock = threading.Lock()
        self._listening = False

    def listen(self) -> None:
        with self._lock:
            if not self._listening:
                llama_cpp.llama_log_set(self._callback, ctypes.c_void_p(0))
                self._listening = True

    def forget(self) -> None:
        self._complaints.clear()

    def first_complaint(self) -> str:
        """The first one names the cause; those after it only pass it on."""
        first = self._complaints[0] if self._complaints else "no reason given"
        return first.removeprefix("llama_model_load: error loading model: ")

    def _hear(self, level: int, text: bytes, _: object) -> None:
        if level != self._CONTINUED:
            self._complaining = level == self._ERROR
        line = text.decode("utf-8", "replace").strip()
        if self._complaining and line:
            self._complaints.append(line)


_LOG = _Log()
