"""A persona as a LangChain chat model."""

# LangChain has no public way to call a chat model within another model's run. `invoke` would start a second
# run, and streams and usage counts would contain each token twice.
# ruff: noqa: SLF001

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun, Callbacks
from langchain_core.language_models import (
    BaseChatModel,
    LangSmithParams,
    LanguageModelInput,
    ModelProfile,
)
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult, LLMResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Field, PrivateAttr

from rolellm_agents.cards import Lorebook
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.models.catalog import describe_model, get_model
from rolellm_agents.models.separated import separated
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.prompting.strategies import STRATEGIES, Strategy
from rolellm_agents.recall import Passage, RecalledItem, RecallOptions
from rolellm_graphs.role.conversation import Conversation, conversation_of
from rolellm_graphs.role.replaced_model import with_model
from rolellm_graphs.tracing.tags import RECALLED, recalled_sources, run_metadata, run_tags


class RoleChatModel(BaseChatModel):
    """A persona that answers like any LangChain chat model; another model inside it generates the answers.

    The prompt is the one that `role_graph` makes of the same conversation: the last words of the user, or
    of another speaker, are the line, the messages before it are the history, and system messages before the
    line become the scene, which follows the persona's description. Messages after the line, such as tool
    calls with their results or the beginning of the answer (AI messages without a name), follow the prompt
    unchanged. Messages with another speaker's `name` reach the
    persona as that speaker's words. User messages must be text.

    Further keywords of a call (`seed`, `temperature`, `max_tokens`, `response_format`, …) are passed to the
    model inside. The answer has the persona's id as its `name`; its `response_metadata` are those of the
    model inside, with `persona`, `persona_name`, `strategy` and, if anything was recalled, `recalled`.

    The model keeps nothing between calls, so timed effects of lorebooks (sticky, cooldown) restart with
    each call; use `role_graph` with a checkpointer for them.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    separates_reasoning: ClassVar[bool] = True

    persona: Persona = Field(frozen=True)
    """The persona as given; its macros are not replaced."""
    model: BaseChatModel = Field(frozen=True)
    """The inner model."""
    strategy: str = Field(frozen=True)
    """Name of the strategy; see `rolellm_agents.prompting.strategies`."""
    user: str = Field(frozen=True)
    """The display name of the person who talks with it."""
    lorebooks: tuple[Lorebook, ...] = Field(frozen=True)
    """Further lorebooks beside the persona's own."""
    recall: RecallOptions | None = Field(frozen=True)
    """How passages are looked up; the strategy's method when None."""
    memories: tuple[Passage, ...] = Field(frozen=True)
    """Passages of earlier conversations, as `rolellm_agents.recall.memories_of` reads them."""
    temperature: float | None = None
    """Default of all calls, like `max_tokens` and `stop`; None uses the setting of the model inside."""
    max_tokens: int | None = None
    stop: list[str] | None = None

    _prompting: Prompting = PrivateAttr()
    _speaker: BaseChatModel = PrivateAttr()
    """The model inside, with its reasoning apart."""

    def __init__(
        self,
        persona: Persona | str,
        *,
        model: BaseChatModel | str = DEFAULT_MODEL,
        strategy: str | Strategy | None = None,
        user: str = DEFAULT_USER,
        lorebooks: Sequence[Lorebook] = (),
        recall: RecallOptions | None = None,
        memories: Sequence[Passage] = (),
        **chat_model: Any,
    ) -> None:
        """Prepare the prompt; a model in this process is loaded at the first call.

        Args:
            persona: a persona, or its id, name or path.
            model: any LangChain chat model, or a spec for `get_model`.
            strategy: a strategy or its name; the model's preferred strategy when None.
            user: the display name of the person who talks with it, for `{{user}}` in cards.
            lorebooks: further lorebooks beside the persona's own.
            recall: how passages are looked up; the strategy's method when None.
            memories: passages of earlier conversations.
            chat_model: `temperature`, `max_tokens` and `stop` of every answer, and what every LangChain
                chat model takes, such as `callbacks`, `tags` or `cache`; defaults are those of the model
                inside. Connection options (`api_key`, `timeout`, `max_retries`, `streaming`) are ignored.

        Raises:
            PersonaError: there is no such persona, or its lorebook cannot be used.
            ModelError: there is no such model.
            SettingsError: there is no such strategy.
        """
        found = load_persona(persona) if isinstance(persona, str) else persona
        inner = get_model(model) if isinstance(model, str) else model
        prompting = Prompting(
            with_macros(found, user),
            strategy or default_strategy(model),
            user=user,
            lorebooks=lorebooks,
            recall=recall,
            memories=memories,
        )
        super().__init__(
            persona=found,
            model=inner,
            strategy=prompting.strategy,
            user=user,
            lorebooks=tuple(lorebooks),
            recall=recall,
            memories=tuple(memories),
            **{**_call_settings_of(inner), **_given(chat_model)},
        )
        provenance = run_metadata(found, prompting.strategy, describe_model(inner))
        self.tags = [*run_tags(found, prompting.strategy), *(inner.tags or []), *(self.tags or [])]
        self.metadata = {**(inner.metadata or {}), **(self.metadata or {}), **provenance}
        self._prompting = prompting
        self._speaker = separated(inner)

    def prompt(self, messages: LanguageModelInput, *, seed: int | None = None) -> list[BaseMessage]:
        """The messages that the model inside receives.

        Args:
            messages: a conversation, or a line.
            seed: for the lore's probabilities; derived from the conversation when None.

        Raises:
            MessageError: there is no user message, or one holds more than text.
            StorageError: the store of passages cannot be used.
            ModelError: the embeddings cannot be used.
        """
        return self._prompt(self._convert_input(messages).to_messages(), seed).messages

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: Any = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The persona with tools; the model inside must support tool calls.

        Args:
            tools: as the model inside takes them.
            tool_choice: the tool that must be called, as the model inside takes it.
            kwargs: further options of the model inside.

        Raises:
            NotImplementedError: the model inside does not support tools.
        """
        choice = {} if tool_choice is None else {"tool_choice": tool_choice}
        return self._through_persona(self.model.bind_tools(tools, **choice, **kwargs))

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """The persona's answers as objects of `schema`, as the model inside produces them.

        Args:
            schema: as the model inside takes it.
            include_raw: return the message, the parsed object and the parser's error, if any.
            kwargs: further options of the model inside, such as `method`.

        Raises:
            NotImplementedError: the model inside does not support structured output.
        """
        return self._through_persona(
            self.model.with_structured_output(schema, include_raw=include_raw, **kwargs)
        )

    def generate(
        self,
        messages: list[list[BaseMessage]],
        stop: list[str] | None = None,
        callbacks: Callbacks = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answers to several conversations, one after the other."""
        return self._with_name(super().generate(messages, stop, callbacks, **kwargs))

    async def agenerate(
        self,
        messages: list[list[BaseMessage]],
        stop: list[str] | None = None,
        callbacks: Callbacks = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answers to several conversations at once."""
        return self._with_name(await super().agenerate(messages, stop, callbacks, **kwargs))

    def get_token_ids(self, text: str) -> list[int]:
        """The tokens of the model inside for `text`."""
        return self.model.get_token_ids(text)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = self._prompt(messages, kwargs.get("seed"))
        options = self._options(kwargs)
        result = self._speaker._generate(prompt.messages, self._stop(stop), run_manager, **options)
        return self._in_role(result, prompt)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = await self._prompt_async(messages, kwargs.get("seed"))
        options = self._options(kwargs)
        result = await self._speaker._agenerate(prompt.messages, self._stop(stop), run_manager, **options)
        return self._in_role(result, prompt)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        prompt = self._prompt(messages, kwargs.get("seed"))
        options = self._options(kwargs)
        provenance = self._provenance(prompt)
        for chunk in self._speaker._stream(prompt.messages, self._stop(stop), run_manager, **options):
            yield self._chunk_in_role(chunk, provenance)
            provenance = {}

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        prompt = await self._prompt_async(messages, kwargs.get("seed"))
        options = self._options(kwargs)
        provenance = self._provenance(prompt)
        answer = self._speaker._astream(prompt.messages, self._stop(stop), run_manager, **options)
        # A caller that stops early frees the model inside at once.
        async with aclosing(answer) as chunks:  # type: ignore[type-var]  # all models' are generators
            async for chunk in chunks:
                yield self._chunk_in_role(chunk, provenance)
                provenance = {}

    def _conversation(self, messages: Sequence[BaseMessage]) -> Conversation:
        """The caller's conversation; last AI messages without a name are the beginning of the answer."""
        end = len(messages)
        while end and _is_begun_answer(messages[end - 1]):
            end -= 1
        said = conversation_of(messages[:end], self._prompting.persona, user=self.user)
        return said._replace(since=[*said.since, *messages[end:]])

    def _prompt(self, messages: Sequence[BaseMessage], seed: int | None) -> "_Prompt":
        said = self._conversation(messages)
        # Nothing is kept between calls, so there are no timed effects yet.
        found = self._prompting.look_up(said.history, said.line, {}, seed=seed)
        return self._composed(said, found.recalled)

    async def _prompt_async(self, messages: Sequence[BaseMessage], seed: int | None) -> "_Prompt":
        said = self._conversation(messages)
        found = await self._prompting.look_up_async(said.history, said.line, {}, seed=seed)
        return self._composed(said, found.recalled)

    def _composed(self, said: Conversation, recalled: list[RecalledItem]) -> "_Prompt":
        prompt = self._prompting.compose(said.history, recalled, said.line, scene=said.scene)
        return _Prompt([*prompt, *said.since], recalled)

    def _options(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        own = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {**{name: value for name, value in own.items() if value is not None}, **kwargs}

    def _stop(self, stop: list[str] | None) -> list[str] | None:
        return self.stop if stop is None else stop

    def _through_persona(
        self, chain: Runnable[LanguageModelInput, Any]
    ) -> Runnable[LanguageModelInput, Any]:
        """The model inside's chain, in which the persona replaces the model."""
        through = with_model(chain, self.model, self)
        if through is None:
            raise NotImplementedError(
                f"{describe_model(self.model)} does this in a way that does not work for a persona; "
                "use another model."
            )
        return through

    def _provenance(self, prompt: "_Prompt") -> dict[str, Any]:
        """Provenance for an answer's `response_metadata`."""
        recalled = recalled_sources(self._prompting.persona, prompt.recalled)
        provenance = run_metadata(self.persona, self.strategy)
        return {**provenance, **({RECALLED: recalled} if recalled else {})}

    def _in_role(self, result: ChatResult, prompt: "_Prompt") -> ChatResult:
        provenance = self._provenance(prompt)
        for generation in result.generations:
            metadata = {**generation.message.response_metadata, **provenance}
            generation.message = generation.message.model_copy(
                update={"name": self.persona.id, "response_metadata": metadata}
            )
        return result

    def _chunk_in_role(self, chunk: ChatGenerationChunk, provenance: dict[str, Any]) -> ChatGenerationChunk:
        """The chunk; only the first one carries provenance, because LangChain joins metadata texts."""
        chunk.message.name = self.persona.id
        if provenance:
            chunk.message.response_metadata = {**chunk.message.response_metadata, **provenance}
        return chunk

    def _with_name(self, result: LLMResult) -> LLMResult:
        """Set the name, which LangChain drops when it merges chunks."""
        for generations in result.generations:
            for generation in generations:
                generation.message.name = self.persona.id  # type: ignore[union-attr]  # all are a chat's
        return result

    def _resolve_model_profile(self) -> ModelProfile | None:
        profile = self.model.profile
        return None if profile is None else {**profile, **_WORDS_ALONE}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return self.model._get_ls_params(stop=self._stop(stop), **self._options(kwargs))

    @property
    def model_name(self) -> str:
        """The name of the model inside, by which LangChain's agents choose a form of structured output."""
        return describe_model(self.model)

    @property
    def _llm_type(self) -> str:
        return "role"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {
            "persona": self.persona.id,
            "strategy": self.strategy,
            "user": self.user,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "stop": self.stop,
            "model": self.model.asdict(),
            "digest": self._digest,
        }

    @cached_property
    def _digest(self) -> str:
        """Digest of all else that changes the prompt, so that LangChain's cache separates personas."""
        # Two custom strategies may have the same name.
        own = () if self.strategy in STRATEGIES else (self._prompting.strategy_function,)
        inputs = repr((self.persona, self.lorebooks, self.recall, self.memories, *own))
        return hashlib.sha256(inputs.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        # Every trace shows it, so complete personas and lorebooks are left out.
        yield "persona", self.persona.id
        yield "model", describe_model(self.model)
        yield "strategy", self.strategy


_WORDS_ALONE = ModelProfile(
    image_inputs=False, image_url_inputs=False, audio_inputs=False, video_inputs=False, pdf_inputs=False
)
"""Inputs that a persona does not accept, even if the model inside does."""


_LEFT_INSIDE = ("api_key", "timeout", "max_retries", "streaming")
"""Parameters of every LangChain chat model that only matter to the model inside."""


class _Prompt(NamedTuple):
    """The messages for the model inside, and the recalled items."""

    messages: list[BaseMessage]
    recalled: list[RecalledItem]


def _is_begun_answer(message: BaseMessage) -> bool:
    """Whether a model may go on with a message; an agent's finished one has its name."""
    return isinstance(message, AIMessage) and not message.name and not message.tool_calls


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _LEFT_INSIDE}


def _call_settings_of(model: BaseChatModel) -> dict[str, Any]:
    """The settings with which LangChain wraps a model's calls; they must also apply to the outer model."""
    can_stream = model._should_stream(async_api=True, stream=True)
    return {
        "cache": model.cache,
        "callbacks": model.callbacks,
        "rate_limiter": model.rate_limiter,
        "output_version": model.output_version,
        "disable_streaming": model.disable_streaming if can_stream else True,
    }
