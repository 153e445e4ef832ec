"""A loaded model file: weights and engine, shared by all chat models of the file."""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple
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
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.template import Turn
from rolellm_agents.models.llamacpp.tuning.settings import Tuning, tuning_for

_MOST_SLOTS = 64
_PARKED = 128 * 2**20
"""Bytes for parked sequences of a small model; they stay allocated while the engine is idle."""
_RESERVE = 64 * 2**20
"""Bytes that stay free beside the KV cache, for llama.cpp's compute buffers."""
_PROMPT_CACHE_BYTES = 512 * 2**20
"""Size limit of the prompt cache on disk."""
_ENDINGS = (("", "a"), ("\nb", "b"), ("c", "c"))
"""Texts that may follow the prefix in the system message, and a user line: as different as possible."""


class LoadSettings(NamedTuple):
    """How to load a file; equal settings share one copy in memory."""

    path: Path
    version: str
    """`gguf.identity`, which changes when the file is written again."""
    n_ctx: int
    sequences: int
    """The most sequences that run at once; 0 sets no limit besides memory."""
    cache_mib: int
    n_threads: int
    n_gpu_layers: int
    original: bool
    """Use the file itself even where a converted copy would be faster."""


class LoadedModel:
    """One model file and the engine over it."""

    def __init__(self, settings: LoadSettings) -> None:
        """Load the file.

        Raises:
            ModelError: the file cannot be loaded, or there is not enough memory for the context.
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
        # The functions hold no reference to this object, so that it is freed with its last user.
        cache = KVCache(
            partial(_make_context, self.model, tuning, self.threads),
            self._limits(settings),
            free_cells=partial(_free_cells, self.model.cache_bytes_per_token),
        )
        versions = (identity(self.model.path), library.version(), library.features(), tuning)
        prompt_cache = PromptCache(user_paths().cache / "warm", repr(versions), limit=_PROMPT_CACHE_BYTES)
        self.engine = Engine(
            cache, self.model, partial(Sampler, self.model), prompt_cache, n_batch=tuning.n_batch
        )

    def prompt(
        self,
        turns: Sequence[Turn],
        *,
        answer_follows: bool = True,
        thinking: bool = False,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> list[int]:
        """The tokens of a conversation, rendered by the model's chat template.

        When an answer follows and the last turn is the model's, the answer continues that turn.
        `thinking` lets a model that reasons do so before its answer; `tools` are for templates that take
        them.
        """
        if not answer_follows or not turns or turns[-1]["role"] != "assistant":
            return self.model.prompt_tokens(
                self.model.template.render(
                    turns, answer_follows=answer_follows, thinking=thinking, tools=tools
                )
            )
        beginning = self.model.tokenize(turns[-1]["content"], add_special=False, parse_special=False)
        return self.model.prompt_tokens(self.model.template.render(turns[:-1], tools=tools)) + beginning

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
        # With overcommitment, a too large allocation succeeds and the kernel kills the process later.
        needed, left = self.n_ctx * self.model.cache_bytes_per_token, memory_left()
        if needed > left:
            raise ModelError(
                f"A conversation of {self.n_ctx:,} tokens with {self.model.path.name} takes "
                f"{needed / 2**30:.1f} GiB and {left / 2**30:.1f} GiB are free; set a smaller n_ctx for it "
                "in models.toml."
            )


def _make_context(
    model: LlamaModel, tuning: Tuning, threads: Threads, slots: int, cells: int
) -> LlamaContext:
    return LlamaContext(model, n_ctx=cells, sequences=slots, tuning=tuning, threads=threads)


def _free_cells(bytes_per_token: int) -> int:
    """How many more tokens fit into memory now."""
    return max(0, memory_left() - _RESERVE) // bytes_per_token


def memory_left() -> int:
    """Bytes that this process may still allocate, within the machine's memory and a container's limit."""
    free = int(psutil.virtual_memory().available)
    granted = cgroup.memory_left()
    return free if granted is None else min(free, granted)


def shared_model(settings: LoadSettings) -> LoadedModel:
    """The model with these settings, which stays in memory as long as it is referenced.

    Raises:
        ModelError: the model cannot be loaded.
    """
    with _LOADING:
        loaded = _LOADED.get(settings)
        if loaded is None:
            loaded = _LOADED[settings] = LoadedModel(settings)
        return loaded


def cacheable_tokens(
    prompt: Sequence[int], prefix: str | None, tokens_of: Callable[[Sequence[Turn]], Sequence[int]]
) -> int:
    """Count the first tokens of a prompt that do not depend on what follows `prefix`.

    A tokenizer may join the end of a text with what follows it, and a chat template may move or trim it.
    So the text is rendered with several endings, and only the tokens that all of these prompts and the
    given one share are counted. They contain nothing that is not in the text or the template.

    Args:
        prompt: the tokens of a prompt whose system message begins with `prefix`.
        prefix: the beginning of the system message; None for no cacheable tokens.
        tokens_of: renders turns by the model's template, and returns their tokens.

    Returns:
        The number of tokens; 0 when the prompt does not begin with the text.
    """
    if not prefix:
        return 0
    probes = [
        tokens_of([{"role": "system", "content": prefix + ending}, {"role": "user", "content": word}])
        for ending, word in _ENDINGS
    ]
    count = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*probes, strict=False)))
    return count if list(prompt[:count]) == list(probes[0][:count]) else 0


def _weights(settings: LoadSettings, tuning: Tuning) -> Path:
    if settings.original or not is_embedded(settings.path):
        return settings.path
    return fastest_weights(settings.path, tuning.weights)


_LOADED: WeakValueDictionary[LoadSettings, LoadedModel] = WeakValueDictionary()
_LOADING = threading.Lock()
