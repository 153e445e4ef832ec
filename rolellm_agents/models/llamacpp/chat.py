"""`ChatLlamaCpp`: a GGUF file as a LangChain chat model."""

import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from langchain_core.language_models import LangSmithParams
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field, PrivateAttr

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.fitting import fit_messages
from rolellm_agents.models.llamacpp.gguf import check_gguf
from rolellm_agents.models.llamacpp.runtime import Finished, LlamaRuntime, Sampling
from rolellm_agents.models.llamacpp.template import turns_of
from rolellm_agents.models.threaded import ThreadedChatModel

# Chat templates mark turns with <|…|>, <…_of_turn> or [INST]; see `_disarm`.
_LIKE_CONTROL = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,20}\]")


class ChatLlamaCpp(ThreadedChatModel):
    """A GGUF model in this process, through llama.cpp.

    The file is opened at the first call (or by `load`). Models of the same file and settings share
    one copy in memory. When a conversation outgrows the context, its oldest turns are left out and
    `response_metadata["dropped_messages"]` says how many.
    """

    model_path: Path
    """A GGUF file."""
    n_ctx: int = Field(default=8192, ge=64)
    """The context in tokens, bounded by what the model was trained with."""
    n_threads: int = Field(default=0, ge=0)
    """Threads to compute with; 0 is one for each processor this process may use."""
    n_gpu_layers: int = 0
    """Layers on the GPU, when llama.cpp was built for one; -1 is all."""
    temperature: float = Field(default=0.7, ge=0)
    """0 always takes the likeliest token."""
    top_k: int = Field(default=40, ge=0)
    top_p: float = Field(default=0.95, gt=0, le=1)
    min_p: float = Field(default=0.05, ge=0, le=1)
    repeat_penalty: float = Field(default=1.1, gt=0)
    """Over the last 128 tokens of the answer; 1 is off."""
    max_tokens: int = Field(default=256, ge=1)
    seed: int | None = None
    """Without one, each answer draws its own; `response_metadata["seed"]` tells which."""
    stop: list[str] = Field(default_factory=list)

    _runtime: LlamaRuntime | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any, /) -> None:
        """Refuse at once what is no GGUF file.

        Raises:
            ModelError: the file is missing or of another kind.
        """
        super().model_post_init(context)
        check_gguf(self.model_path)

    def load(self) -> LlamaRuntime:
        """Open the file now rather than at the first call.

        Raises:
            ModelError: llama.cpp cannot load it.
        """
        if self._runtime is None:
            self._runtime = _shared_runtime(self.model_path, self.n_ctx, self.n_threads, self.n_gpu_layers)
        return self._runtime

    def get_token_ids(self, text: str) -> list[int]:
        """The model's own tokens for `text`."""
        return self.load().tokenize(text, add_special=False, parse_special=False)

    def _sampling(self, stop: list[str] | None, overrides: dict[str, Any]) -> Sampling:
        """This call's settings: its own keyword arguments first, then the model's."""

        def setting(name: str) -> Any:
            given = overrides.get(name)
            return getattr(self, name) if given is None else given

        seed = setting("seed")
        return Sampling(
            temperature=setting("temperature"),
            top_k=setting("top_k"),
            top_p=setting("top_p"),
            min_p=setting("min_p"),
            repeat_penalty=setting("repeat_penalty"),
            seed=secrets.randbits(31) if seed is None else seed % 2**32,
            max_tokens=setting("max_tokens"),
            stop=tuple(stop if stop is not None else self.stop),
        )

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        runtime = self.load()
        sampling = self._sampling(stop, options)

        def prompt_of(some: Sequence[BaseMessage]) -> list[int]:
            turns = [
                {"role": turn["role"], "content": _disarm(turn["content"], runtime)}
                for turn in turns_of(some)
            ]
            return runtime.prompt_tokens(runtime.template.render(turns))

        answer_room = min(sampling.max_tokens, runtime.n_ctx // 4)
        kept, dropped = fit_messages(
            messages, runtime.n_ctx - answer_room, lambda some: len(prompt_of(some))
        )
        for part in runtime.generate(prompt_of(kept), sampling, should_stop):
            if isinstance(part, Finished):
                yield self._last_chunk(part, sampling.seed, dropped)
            else:
                yield ChatGenerationChunk(message=AIMessageChunk(content=part))

    def _last_chunk(self, finished: Finished, seed: int, dropped: int) -> ChatGenerationChunk:
        usage = UsageMetadata(
            input_tokens=finished.prompt_tokens,
            output_tokens=finished.completion_tokens,
            total_tokens=finished.prompt_tokens + finished.completion_tokens,
            input_token_details=InputTokenDetails(cache_read=finished.reused_tokens),
        )
        metadata = {
            "model_name": self.model_path.stem,
            "finish_reason": finished.reason,
            "seed": seed,
            "dropped_messages": dropped,
        }
        return ChatGenerationChunk(
            message=AIMessageChunk(
                content="",
                usage_metadata=usage,
                response_metadata=metadata,
                chunk_position="last",
            )
        )

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = "llamacpp"
        params["ls_model_name"] = self.model_path.stem
        return params

    @property
    def _llm_type(self) -> str:
        return "llamacpp"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_path": str(self.model_path), "n_ctx": self.n_ctx, "seed": self.seed}


def _disarm(content: str, runtime: LlamaRuntime) -> str:
    """Break what the vocabulary would read as a control token: words must not forge a turn."""

    def broken(match: re.Match[str]) -> str:
        text = match.group()
        return f"{text[0]} {text[1:]}" if runtime.is_control_text(text) else text

    return _LIKE_CONTROL.sub(broken, content)


_RUNTIMES: WeakValueDictionary[tuple[Path, int, int, int], LlamaRuntime] = WeakValueDictionary()
_LOADING = threading.Lock()


def _shared_runtime(path: Path, n_ctx: int, n_threads: int, n_gpu_layers: int) -> LlamaRuntime:
    """The loaded model for these settings, as long as somebody holds it."""
    key = (path.resolve(), n_ctx, n_threads, n_gpu_layers)
    with _LOADING:
        runtime = _RUNTIMES.get(key)
        if runtime is None:
            try:
                runtime = LlamaRuntime(path, n_ctx=n_ctx, n_threads=n_threads, n_gpu_layers=n_gpu_layers)
            except OSError as error:
                raise ModelError(f"The model file {path} cannot be opened: {error}.") from error
            _RUNTIMES[key] = runtime
        return runtime
