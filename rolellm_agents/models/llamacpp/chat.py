"""`ChatLlamaCpp`: a GGUF file as a LangChain chat model."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LangSmithParams, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable
from pydantic import Field, PrivateAttr, model_validator

from rolellm_agents.errors import ModelError
from rolellm_agents.models.fitting import fit_messages
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.answer import BUDGETS, EngineRequest, ReasonedAnswer
from rolellm_agents.models.llamacpp.contrast import neutral_messages
from rolellm_agents.models.llamacpp.engine.jobs import PrefillJob
from rolellm_agents.models.llamacpp.engine.sampling import Sampling
from rolellm_agents.models.llamacpp.engine.token_stream import AsyncTokenStream, TokenStream
from rolellm_agents.models.llamacpp.files.gguf import check_gguf, identity
from rolellm_agents.models.llamacpp.keywords import check_fields, check_options
from rolellm_agents.models.llamacpp.loaded import LoadedModel, LoadSettings, cacheable_tokens, shared_model
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.structured import Method, grammar_of, structured
from rolellm_agents.models.llamacpp.template import CALL_STARTS, Turn, turns_of
from rolellm_agents.models.llamacpp.tools import Tool, instructed, tool_grammar, tool_options, tool_request
from rolellm_agents.models.local import cached_prefix
from rolellm_agents.models.prefill import ON_PREFILL
from rolellm_agents.models.reasoning import Thinking
from rolellm_agents.models.streamed import StreamedChatModel

# Chat templates mark turns with <|…|>, <…_of_turn> or [INST]; see `_break_control`.
_LIKE_CONTROL = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,20}\]")


class ChatLlamaCpp(StreamedChatModel):
    """A GGUF model in this process, through llama.cpp.

    The first call (or `load`) opens the file. Models of the same file and settings share one copy in
    memory, whose KV cache holds many conversations and answers them at once. When a conversation exceeds
    the context, its oldest turns are dropped; `response_metadata["dropped_messages"]` is their number.

    Only a prefix that was passed through `rolellm_agents.models.local.cacheable` is kept on disk.
    """

    separates_reasoning: ClassVar[bool] = True

    model_path: Path
    """A GGUF file."""
    adapter_path: Path | None = None
    """LoRA weights for this model in a GGUF file."""
    n_ctx: int = Field(default=8192, ge=64)
    """The context of one conversation in tokens, at most what the model was trained with."""
    sequences: int = Field(default=0, ge=0, le=64)
    """The most conversations that are answered at once; 0 is as many as fit into memory, 64 at most."""
    cache_mib: int = Field(default=512, ge=1)
    """KV cache in MiB for idle conversations, so that their prompts are not computed again; at least the
    file's own size. It is allocated on demand, and mostly freed after a minute without a request."""
    n_threads: int = Field(default=0, ge=0)
    """Fixed number of threads; 0 takes one for each processor, or the calibrated number, and fewer while
    other programs use the processors."""
    n_gpu_layers: int | Literal["auto"] = "auto"
    """Layers on the GPU; -1 is all. `auto` is all when llama.cpp was built for a GPU, else none."""
    weights: Literal["fastest", "original"] = "fastest"
    """Whether the embedded model may be used in a faster format of the same quality."""
    temperature: float = Field(default=0.7, ge=0)
    """0 is greedy decoding."""
    top_k: int = Field(default=40, ge=0)
    top_p: float = Field(default=0.95, gt=0, le=1)
    min_p: float = Field(default=0.05, ge=0, le=1)
    typical_p: float = Field(default=1, gt=0, le=1)
    """Locally typical sampling; 1 is off."""
    top_n_sigma: float = Field(default=0, ge=0)
    """Keeps tokens within this many standard deviations of the best logit; 0 is off."""
    xtc_probability: float = Field(default=0, ge=0, le=1)
    """Probability of excluding the most likely tokens (XTC); 0 is off."""
    xtc_threshold: float = Field(default=0.1, ge=0, le=1)
    """With XTC: the probability from which on a token may be excluded; above 0.5 it never is."""
    dynatemp_range: float = Field(default=0, ge=0)
    """How far the temperature varies with the entropy, in both directions; 0 is off."""
    dynatemp_exponent: float = Field(default=1, ge=0)
    repeat_penalty: float = Field(default=1.1, gt=0)
    """Over the last `repeat_last_n` tokens of the answer; 1 is off."""
    repeat_last_n: int = Field(default=128, ge=0)
    """The tokens of the answer that the repeat, frequency and presence penalties count."""
    frequency_penalty: float = 0
    presence_penalty: float = 0
    dry_multiplier: float = Field(default=0, ge=0)
    """Strength of the DRY penalty on repeated phrases, including the prompt's; 0 is off, 0.8 is usual."""
    dry_base: float = Field(default=1.75, ge=1)
    dry_allowed_length: int = Field(default=2, ge=0)
    contrast: float = Field(default=0, ge=0, le=5)
    """Weight of the prompt against a neutral one without the persona: 1.5 speaks more in character than the
    model alone, 0 and 1 are off. Each answer then takes two sequences and about twice the time."""
    contrast_floor: float = Field(default=0.15, gt=0, le=1)
    """With contrast: the least probability of a token, as a share of the likeliest token's."""
    max_tokens: int = Field(default=256, ge=1)
    """The most tokens of an answer, without its reasoning."""
    thinking: Thinking = "off"
    """How much a reasoning model thinks before its answer: at most 256, 1,024 or 4,096 tokens. The
    reasoning is in `additional_kwargs["reasoning_content"]` and no part of the answer."""
    seed: int | None = None
    """Sampling seed; None takes a random one for each answer, reported as `response_metadata["seed"]`."""
    stop: list[str] = Field(default_factory=list)

    _loaded: LoadedModel | None = PrivateAttr(default=None)
    _adapter: str | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _has_known_fields(cls, given: Any) -> Any:
        if isinstance(given, dict):
            check_fields(given, cls.model_fields)
        return given

    def model_post_init(self, context: Any, /) -> None:
        """Check that the files are GGUF files.

        Raises:
            ModelError: a file is missing or not a GGUF file.
        """
        super().model_post_init(context)
        check_gguf(self.model_path)
        if self.adapter_path is not None:
            check_gguf(self.adapter_path)

    def load(self) -> LoadedModel:
        """Open the file now rather than at the first call.

        Raises:
            ModelError: llama.cpp cannot load it, or there is not enough memory for the context.
        """
        if self._loaded is None:
            auto = -1 if library.has_gpu() else 0
            loaded = shared_model(
                LoadSettings(
                    path=self.model_path.resolve(),
                    version=identity(self.model_path),
                    n_ctx=self.n_ctx,
                    sequences=self.sequences,
                    cache_mib=self.cache_mib,
                    n_threads=self.n_threads,
                    n_gpu_layers=auto if self.n_gpu_layers == "auto" else self.n_gpu_layers,
                    original=self.weights == "original",
                )
            )
            if self.adapter_path is not None:
                self._adapter = loaded.model.load_adapter(self.adapter_path)
            self._loaded = loaded
        return self._loaded

    def get_token_ids(self, text: str) -> list[int]:
        """The model's own tokens for `text`."""
        return self.load().model.tokenize(text, add_special=False, parse_special=False)

    def prefetch(self, messages: Sequence[BaseMessage]) -> PrefillJob:
        """Prefill the prefix of a coming prompt while no request is pending.

        Args:
            messages: the known messages of the prompt.

        Returns:
            The job, which can be cancelled.

        Raises:
            ModelError: the messages do not fit, or the model cannot be loaded.
        """
        loaded = self.load()
        kept, _ = _fitting(messages, loaded, self.max_tokens)
        tokens = loaded.prompt(_safe_turns(kept, loaded.model), answer_follows=False)
        cacheable = cacheable_tokens(tokens, _safe_prefix(kept, loaded.model), loaded.prompt)
        return loaded.engine.prefetch(tokens, adapter=self._adapter, cacheable=cacheable)

    def score(self, messages: Sequence[BaseMessage], continuation: str) -> "Future[list[float]]":
        """The natural logarithm of the probability of each token of an answer.

        Args:
            messages: the prompt.
            continuation: the answer.

        Raises:
            ModelError: the answer is empty, it does not fit, or the model cannot be loaded.
        """
        loaded = self.load()
        return loaded.engine.score(
            loaded.prompt(_safe_turns(messages, loaded.model)),
            loaded.model.tokenize(continuation, add_special=False, parse_special=False),
            adapter=self._adapter,
        )

    if not TYPE_CHECKING:  # type checkers see LangChain's own signature: the class it returns is private

        def bind(self, **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
            """Bind keyword arguments of calls.

            Raises:
                ModelError: a call has no such argument.
            """
            check_options(kwargs, _SAMPLING)
            return super().bind(**kwargs)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type | None = None,
        *,
        include_raw: bool = False,
        method: Method = "json_schema",
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Any]:
        """Constrain answers to JSON that is valid against `schema`.

        Decoding is constrained by a grammar; the prompt does not change. An answer that reaches
        `max_tokens` is completed in as few tokens as possible.

        Args:
            schema: a pydantic class, a TypedDict, or a JSON Schema; None is any JSON object.
            include_raw: return the message, the parsed object and the parser's error, if any.
            method: accepted for compatibility and reported to tracing.
            kwargs: accepted for compatibility, such as `strict`.
        """
        return structured(self, schema, method=method, include_raw=include_raw)

    def bind_tools(
        self,
        tools: Sequence[Tool],
        *,
        tool_choice: Any = None,
        parallel_tool_calls: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Let the model call tools. A grammar holds each call to its tool's schema.

        Args:
            tools: pydantic classes, functions, LangChain's tools, or schemas in OpenAI's format.
            tool_choice: `auto`, `none`, `any`, or the name of the tool that must be called.
            parallel_tool_calls: whether an answer may have several calls; None for one if it is required,
                else for several.
            kwargs: further options of each call, such as `temperature`.

        Raises:
            ModelError: there is no such tool.
        """
        kwargs.pop("strict", None)  # every call is
        return self.bind(**tool_options(tools, tool_choice, parallel_tool_calls), **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages, stop, kwargs)
        while answer.is_waiting:
            with TokenStream(answer.submit) as items:
                for item in items:
                    yield from answer.take(item)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        answer = await asyncio.to_thread(self._answer, messages, stop, kwargs)
        while answer.is_waiting:
            async with AsyncTokenStream(answer.submit) as items:
                async for item in items:
                    for chunk in answer.take(item):
                        yield chunk

    def _answer(
        self, messages: list[BaseMessage], stop: list[str] | None, options: dict[str, Any]
    ) -> ReasonedAnswer:
        check_options(options, _SAMPLING)
        _refuse_media(messages, self.model_path.name)
        loaded = self.load()
        sampling = self._sampling(stop, options)
        thinking = self._thinking(messages, sampling, options)
        tools = tool_request(options)
        native = tools.tools if tools and loaded.model.template.takes_tools else ()
        if tools and not native:
            messages = instructed(messages, tools)
        room = sampling.max_tokens + BUDGETS[thinking]
        kept, dropped = _fitting(messages, loaded, room, native)
        thinks = thinking != "off"
        prompt = loaded.prompt(_safe_turns(kept, loaded.model), thinking=thinks, tools=native)
        return ReasonedAnswer(
            EngineRequest(
                loaded=loaded,
                prompt=prompt,
                sampling=sampling,
                adapter=self._adapter,
                cacheable=cacheable_tokens(prompt, _safe_prefix(kept, loaded.model), loaded.prompt),
                neutral=_neutral(kept, loaded, thinks) if _contrasts(sampling) else [],
                dropped=dropped,
                continues=_is_continued(kept),
                thinking=thinking,
                has_tools=tools is not None,
                on_prefill=ON_PREFILL.get(),
            ),
            self.model_path.stem,
        )

    def _thinking(
        self, messages: Sequence[BaseMessage], sampling: Sampling, options: dict[str, Any]
    ) -> Thinking:
        """How much to reason; not at all under a grammar, or in a continued answer."""
        thinking: Thinking = options.get("thinking") or self.thinking
        if thinking not in BUDGETS:
            raise ModelError(f"thinking {thinking!r} is none of {', '.join(BUDGETS)}.")
        if thinking != "off" and self.load().model.template.reasoning is None:
            raise ModelError(
                f"{self.model_path.name} has no marks for reasoning in its chat template; leave “thinking” "
                "off."
            )
        return "off" if sampling.grammar or _is_continued(messages) else thinking

    def _sampling(self, stop: list[str] | None, options: dict[str, Any]) -> Sampling:
        """This call's settings: its keyword arguments, then the model's fields."""
        settings = {name: getattr(self, name) for name in _SAMPLING}
        default_stop = self.stop
        grammar = grammar_of(options) or self._tool_grammar(options)
        if grammar:
            # JSON repeats its punctuation, and a stop string may cut it in two.
            settings["repeat_penalty"], default_stop = 1.0, []
        settings |= {name: options[name] for name in _SAMPLING if options.get(name) is not None}
        seed = options.get("seed") if options.get("seed") is not None else self.seed
        return Sampling(
            **settings,
            seed=secrets.randbits(31) if seed is None else seed % 2**32,
            stop=tuple(stop if stop is not None else default_stop),
            grammar=grammar,
        )

    def _tool_grammar(self, options: dict[str, Any]) -> str:
        tools = tool_request(options)
        if tools is None:
            return ""
        mark = self.load().model.tokenize(CALL_STARTS, add_special=False)
        return tool_grammar(tools, is_special=len(mark) == 1)

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = "llamacpp"
        params["ls_model_name"] = self._name
        return params

    @property
    def _name(self) -> str:
        adapter = f"+{self.adapter_path.stem}" if self.adapter_path else ""
        return self.model_path.stem + adapter

    @property
    def _llm_type(self) -> str:
        return "llamacpp"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        adapter = str(self.adapter_path) if self.adapter_path else None
        return {
            "model_path": str(self.model_path),
            "adapter_path": adapter,
            "n_ctx": self.n_ctx,
            "seed": self.seed,
        }


_SAMPLING = [field.name for field in fields(Sampling) if field.name not in ("seed", "stop", "grammar")]
"""Fields of the model that a call's keyword arguments may override."""


def _contrasts(sampling: Sampling) -> bool:
    """Whether a neutral prompt changes the answer; constrained answers are never contrasted."""
    return sampling.contrast not in (0, 1) and not sampling.grammar


def _neutral(messages: Sequence[BaseMessage], loaded: LoadedModel, thinks: bool) -> list[int]:
    return loaded.prompt(_safe_turns(neutral_messages(messages), loaded.model), thinking=thinks)


def _fitting(
    messages: Sequence[BaseMessage],
    loaded: LoadedModel,
    max_tokens: int,
    tools: Sequence[Mapping[str, Any]] = (),
) -> tuple[list[BaseMessage], int]:
    """The messages that leave room for an answer, and how many messages were dropped."""
    room = loaded.n_ctx - min(max_tokens, loaded.n_ctx // 4)

    def count(part: Sequence[BaseMessage]) -> int:
        return len(loaded.prompt(_safe_turns(part, loaded.model), tools=tools))

    return fit_messages(messages, room, count)


_MEDIA = frozenset(
    ("image", "image_url", "input_image", "audio", "input_audio", "video", "file", "input_file")
)
"""The types of content blocks of LangChain and OpenAI that are no text."""


def _refuse_media(messages: Sequence[BaseMessage], name: str) -> None:
    """Raise for a picture or sound, which would be left out without a word."""
    for message in messages:
        for block in message.content if isinstance(message.content, list) else ():
            kind = block.get("type", "") if isinstance(block, dict) else ""
            if kind in _MEDIA:
                raise ModelError(
                    f"{name} reads only text, and a message contains a part of the type {kind!r}; leave it "
                    "out, or use a model behind a server that reads it."
                )


def _is_continued(messages: Sequence[BaseMessage]) -> bool:
    """Whether the answer continues the last message; a call of a tool is complete."""
    last = messages[-1] if messages else None
    return isinstance(last, AIMessage) and not last.tool_calls


def _safe_turns(messages: Sequence[BaseMessage], model: LlamaModel) -> list[Turn]:
    """The messages as the template's turns, without text that tokenizes as a control token."""

    def safe(value: Any) -> Any:
        if isinstance(value, str):
            return _break_control(value, model)
        if isinstance(value, dict):
            return {safe(key): safe(part) for key, part in value.items()}
        return [safe(part) for part in value] if isinstance(value, list) else value

    turns = turns_of(messages, takes_tools=model.template.takes_tools)
    return [{key: value if key == "role" else safe(value) for key, value in turn.items()} for turn in turns]


def _safe_prefix(messages: Sequence[BaseMessage], model: LlamaModel) -> str | None:
    """The text at the prompt's beginning that may be kept on disk, as the turns contain it."""
    prefix = cached_prefix(messages)
    return prefix and _break_control(prefix, model)


def _break_control(content: str, model: LlamaModel) -> str:
    """Insert a space into text that tokenizes as a control token, so that no message can forge a turn."""

    def broken(match: re.Match[str]) -> str:
        text = match.group()
        return f"{text[0]} {text[1:]}" if model.is_control_text(text) else text

    return _LIKE_CONTROL.sub(broken, content)
