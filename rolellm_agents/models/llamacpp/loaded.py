"""A model file ready to answer: weights, engine, and what all its chat models share."""

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import psutil

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.engine import cgroup
from rolellm_agents.models.llamacpp.engine.context import LlamaContext
from rolellm_agents.models.llamacpp.engine.engine import Engine
from rolellm_agents.models.llamacpp.engine.kv_cache import CacheLimits, KVCache
from rolellm_agents.models.llamacpp.engine.prompt_cache import PromptCache
from rolellm_agents.models.llamacpp.engine.sampling import Sampler
from rolellm_agents.models.llamacpp.engine.threads import AdaptiveThreads, FixedThreads, Threads
from rolellm_agents.models.llamacpp.files.gguf import identity, is_embedded
from rolellm_agents.models.llamacpp.files.weights import fastest_weights
from rolellm_agents.models.llamacpp.fixed_part import fixed_part
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.template import Turn
from rolellm_agents.models.llamacpp.tuning.settings import Tuning, tuning_for

_MOST_SLOTS = 64
_PARKED = 128 * 2**20
"""What parked conversations of a small model may take; it stays taken while nobody asks anything."""
_RESERVE = 64 * 2**20
"""Bytes that stay free beside the KV cache, for what computing takes."""
_PROMPT_CACHE_BYTES = 512 * 2**20
"""What the beginnings of prompts may take on disk."""


class LoadSettings(NamedTuple):
    """How a file is to be loaded; where all is equal, one copy in memory serves."""

    path: Path
    version: str
    """`gguf.identity`: a file written anew is another one."""
    n_ctx: int
    sequences: int
    """The most conversations that are computed at once; 0 leaves it to the memory."""
    cache_mib: int
    n_threads: int
    n_gpu_layers: int
    original: bool
    """Take the file as it is, even where another format of it would be faster."""


class LoadedModel:
    """One model file and the engine over it."""

    def __init__(self, settings: LoadSettings) -> None:
        """Load the file.

        Raises:
            ModelError: it cannot be loaded, or there is no memory for the context.
        """
        tuning = tuning_for(settings.path)
        self.threads: Threads = (
            FixedThreads(settings.n_threads)
            if settings.n_threads
            else AdaptiveThreads(tuning.n_threads or library.processors())
        )
        self.model = LlamaModel(_weights(settings, tuning), n_gpu_layers=settings.n_gpu_layers)
        self.n_ctx = min(settings.n_ctx, self.model.n_ctx_train)
        self._check_memory()
        # Neither function holds this object, so that it goes as soon as nobody holds it.
        cache = KVCache(
            partial(_make_context, self.model, tuning, self.threads),
            self._limits(settings),
            room_left=partial(_room_left, self.model.cache_bytes_per_token),
        )
        made_by = (identity(self.model.path), library.version(), library.features(), tuning)
        prompt_cache = PromptCache(user_paths().cache / "warm", repr(made_by), limit=_PROMPT_CACHE_BYTES)
        self.engine = Engine(
            cache, self.model, partial(Sampler, self.model), prompt_cache, n_batch=tuning.n_batch
        )

    def prompt(self, turns: Sequence[Turn], *, answer_follows: bool = True) -> list[int]:
        """The tokens of a conversation in the model's own form.

        When an answer follows and the last turn is the model's, that turn is the beginning of the answer.
        """
        if not answer_follows or not turns or turns[-1]["role"] != "assistant":
            return self.model.prompt_tokens(
                self.model.template.render(turns, answer_follows=answer_follows)
            )
        begun = self.model.tokenize(turns[-1]["content"], add_special=False, parse_special=False)
        return self.model.prompt_tokens(self.model.template.render(turns[:-1])) + begun

    def fixed_part(self, prompt: Sequence[int], prefix: str | None) -> int:
        """How many first tokens of a prompt say `prefix`, and may be kept on disk; none without one."""
        return fixed_part(prompt, prefix, self.prompt) if prefix else 0

    def _limits(self, settings: LoadSettings) -> CacheLimits:
        file, token = self.model.path.stat().st_size, self.model.cache_bytes_per_token
        idle = min(max(settings.cache_mib * 2**20, file), memory_left() // 2)
        parked = min(idle // 4, max(_PARKED, file // 4))
        return CacheLimits(
            n_ctx=self.n_ctx,
            slots=settings.sequences or _MOST_SLOTS,
            idle=idle // token,
            parked=parked // token,
        )

    def _check_memory(self) -> None:
        # Where memory is promised before it is there, allocating too much succeeds and then kills.
        wanted, left = self.n_ctx * self.model.cache_bytes_per_token, memory_left()
        if wanted > left:
            raise ModelError(
                f"A conversation of {self.n_ctx:,} tokens with {self.model.path.name} takes "
                f"{wanted / 2**30:.1f} GiB and {left / 2**30:.1f} GiB are free; set a smaller n_ctx for it "
                "in models.toml."
            )


def _make_context(
    model: LlamaModel, tuning: Tuning, threads: Threads, slots: int, cells: int
) -> LlamaContext:
    return LlamaContext(model, n_ctx=cells, sequences=slots, tuning=tuning, threads=threads)


def _room_left(bytes_per_token: int) -> int:
    """For how many more tokens there is memory now."""
    return max(0, memory_left() - _RESERVE) // bytes_per_token


def memory_left() -> int:
    """Bytes that this process may still take: what is free, or what a container's limit leaves."""
    free = int(psutil.virtual_memory().available)
    granted = cgroup.memory_left()
    return free if granted is None else min(free, granted)


def shared_model(settings: LoadSettings) -> LoadedModel:
    """The model loaded with these settings, as long as somebody holds it.

    Raises:
        ModelError: it cannot be loaded.
    """
    with _LOADING:
        loaded = _LOADED.get(settings)
        if loaded is None:
            loaded = _LOADED[settings] = LoadedModel(settings)
        return loaded


def _weights(settings: LoadSettings, tuning: Tuning) -> Path:
    if settings.original or not is_embedded(settings.path):
        return settings.path
    return fastest_weights(settings.path, tuning.weights)


_LOADED: WeakValueDictionary[LoadSettings, LoadedModel] = WeakValueDictionary()
_LOADING = threading.Lock()
