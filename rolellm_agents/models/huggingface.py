"""transformers models in this process, through langchain-huggingface.

The chat model of langchain-huggingface over a local pipeline has no async methods, ignores sampling
settings while it streams, and cannot be stopped. The subclass here streams with transformers, and inherits
the rest.
"""

import json
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import HfApi, try_to_load_from_cache
from jinja2 import TemplateError
from langchain_core.language_models import LangSmithParams
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk
from langchain_huggingface import ChatHuggingFace, HuggingFacePipeline
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    StoppingCriteriaList,
    TextIteratorStreamer,
    pipeline,
    set_seed,
)

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.template import CHATML, Turn, fold, turns_of
from rolellm_agents.models.stop_strings import StoppingText
from rolellm_agents.models.threaded import ThreadedChatModel
from rolellm_agents.text import one_line

_DEFAULT_MAX_TOKENS = 256


# ChatHuggingFace lets a caller of its private methods pass `stream`; LangChain itself never does.
class ChatTransformers(ThreadedChatModel, ChatHuggingFace):  # type: ignore[misc]
    """A causal language model of transformers as a LangChain chat model."""

    seed: int | None = None

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        tokenizer, model = self.llm.pipeline.tokenizer, self.llm.pipeline.model
        inputs = self._inputs_of(turns_of(messages)).to(model.device)
        settings = self._generation_settings(options)
        answer = _Generation(model, tokenizer, inputs, should_stop)
        said = StoppingText(tuple(stop or ()))
        with closing(answer.stream(settings, options.get("seed", self.seed))) as texts:
            for text in texts:
                if sure := said.push(text):
                    yield ChatGenerationChunk(message=AIMessageChunk(content=sure))
                if said.stopped:
                    break
        if rest := said.rest():
            yield ChatGenerationChunk(message=AIMessageChunk(content=rest))
        yield _last_chunk(self.model_id or "", answer.read, answer.written, settings["max_new_tokens"])

    def _inputs_of(self, turns: list[Turn]) -> Any:
        """The prompt's tokens; if the template rejects the turns, those of the folded turns."""

        def apply(rendered: list[Turn]) -> Any:
            return self.llm.pipeline.tokenizer.apply_chat_template(
                rendered, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )

        try:
            return apply(turns)
        except TemplateError:
            try:
                return apply(fold(turns))
            except TemplateError as error:
                raise ModelError(
                    f"The model's chat template refuses this conversation: {error}."
                ) from error

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = "huggingface"
        params["ls_model_name"] = self.model_id or ""
        return params

    def _generation_settings(self, given: dict[str, Any]) -> dict[str, Any]:
        settings = dict(self.llm.pipeline_kwargs or {})
        if given.get("max_tokens") is not None:
            settings["max_new_tokens"] = given["max_tokens"]
        if given.get("temperature") is not None:
            settings |= _temperature(given["temperature"])
        return settings


class _Generation:
    """One call of `model.generate` in a separate thread, as an iterator over its text."""

    def __init__(self, model: Any, tokenizer: Any, inputs: Any, should_stop: Callable[[], bool]) -> None:
        self.read = inputs["input_ids"].shape[-1]
        self.written = 0
        self._model = model
        self._inputs = inputs
        self._should_stop = should_stop
        self._abandoned = False
        self._streamer = TextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
        self._error: Exception | None = None

    def stream(self, settings: dict[str, Any], seed: int | None) -> Generator[str, None, None]:
        """Yield the text as it is generated; closing the iterator ends the call within one token."""
        thread = threading.Thread(target=self._generate, args=(settings, seed), daemon=True)
        thread.start()
        try:
            for text in self._streamer:
                if text:
                    yield text
        finally:
            self._abandoned = True
            thread.join()
        if self._error is not None:
            raise self._error

    def _generate(self, settings: dict[str, Any], seed: int | None) -> None:
        try:
            if seed is not None:
                set_seed(seed)
            self._model.generate(
                **self._inputs,
                **settings,
                streamer=self._streamer,
                stopping_criteria=StoppingCriteriaList([self._after_token]),
            )
        except Exception as error:  # noqa: BLE001 - raised again in the reading thread
            self._error = error
            self._streamer.end()

    def _after_token(self, input_ids: torch.Tensor, _: Any, **__: Any) -> torch.Tensor:
        self.written = input_ids.shape[-1] - self.read
        return torch.full((input_ids.shape[0],), self._abandoned or self._should_stop(), dtype=torch.bool)


def load_transformers(
    name: str,
    *,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    device: str | None = None,
    dtype: str = "auto",
) -> ChatTransformers:
    """Load a model, or a PEFT adapter with its base, from a folder or the Hugging Face hub.

    Args:
        name: a folder, or `org/model` on the hub.
        temperature: sampling temperature, 0 for the likeliest token; the model's default when None.
        max_tokens: the maximum length of an answer in tokens.
        seed: sampling seed for repeatable answers.
        device: torch's name of the device; transformers' choice when None.
        dtype: torch's name of the weights' data type; `auto` is that of the files.

    Raises:
        ModelError: the model cannot be found or loaded.
    """
    if not name:
        raise ModelError("“huggingface:” needs a folder or org/model, as in huggingface:org/model.")
    _check_settings(name, temperature, max_tokens, device, dtype)
    place, is_here = _find(name)
    try:
        model = AutoModelForCausalLM.from_pretrained(place, dtype=dtype, local_files_only=is_here)
        tokenizer = _load_tokenizer(place, is_here)
    except Exception as error:  # the readers of the files raise various exceptions
        raise ModelError(
            f"huggingface:{name} cannot be loaded ({one_line(str(error), 160)}); "
            "name a folder with a model, or org/model on a hub you can reach."
        ) from error
    if tokenizer.chat_template is None:
        tokenizer.chat_template = CHATML
    settings: dict[str, Any] = {"max_new_tokens": max_tokens or _DEFAULT_MAX_TOKENS}
    if temperature is not None:
        settings |= _temperature(temperature)
    text_generation = pipeline(
        "text-generation", model=model.to(device) if device else model, tokenizer=tokenizer
    )
    llm = HuggingFacePipeline(pipeline=text_generation, model_id=place, pipeline_kwargs=settings)
    return ChatTransformers(llm=llm, tokenizer=tokenizer, model_id=place, seed=seed)


def _check_settings(
    name: str, temperature: float | None, max_tokens: int | None, device: str | None, dtype: str
) -> None:
    wrong = None
    if temperature is not None and not (isinstance(temperature, int | float) and temperature >= 0):
        wrong = f"temperature {temperature!r}; it is 0 or more"
    elif max_tokens is not None and not (isinstance(max_tokens, int) and max_tokens >= 1):
        wrong = f"max_tokens {max_tokens!r}; it is 1 or more"
    elif dtype != "auto" and not isinstance(getattr(torch, dtype, None), torch.dtype):
        wrong = f"dtype {dtype!r}; name one of torch's, such as float32 or bfloat16"
    elif device is not None:
        try:
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:
            wrong = (
                f"device {device!r} here ({one_line(str(error), 120)}); name one of torch's, such as cpu"
            )
    if wrong:
        raise ModelError(f"huggingface:{name} cannot take {wrong}.")


def _load_tokenizer(place: str, is_here: bool) -> Any:
    """The model's own tokenizer; that of the base for an adapter without a tokenizer."""
    try:
        return AutoTokenizer.from_pretrained(place, local_files_only=is_here)
    except (OSError, ValueError):
        config = Path(place) / "adapter_config.json"
        if not config.is_file():
            raise
        base = json.loads(config.read_text(encoding="utf-8"))["base_model_name_or_path"]
        return AutoTokenizer.from_pretrained(base)


def _find(name: str) -> tuple[str, bool]:
    """The folder or hub name to load, and whether the files are on this machine.

    The hub is called only for missing models, and only once: without a network, transformers itself would
    retry for a minute.
    """
    folder = Path(name).expanduser()
    if folder.exists():
        return str(folder), True
    if any(
        isinstance(try_to_load_from_cache(name, file), str)
        for file in ("config.json", "adapter_config.json")
        if name.count("/") == 1
    ):
        return name, True
    try:
        HfApi().model_info(name, timeout=10)
    except Exception as error:  # the exceptions of the hub's client depend on its HTTP library
        raise ModelError(
            f"There is no folder {name!r}, and the hub does not give a model of that name "
            f"({one_line(str(error), 120)}); check the name and the network."
        ) from error
    return name, False


def _temperature(temperature: float) -> dict[str, Any]:
    if temperature == 0:
        return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    return {"do_sample": True, "temperature": float(temperature)}  # transformers refuses an int


def _last_chunk(name: str, read: int, written: int, limit: int) -> ChatGenerationChunk:
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
    metadata = {
        "model_name": name,
        "finish_reason": "length" if written >= limit else "stop",
    }
    return ChatGenerationChunk(
        message=AIMessageChunk(
            content="", usage_metadata=usage, response_metadata=metadata, chunk_position="last"
        )
    )
