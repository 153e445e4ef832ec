"""Requests and responses in OpenAI's format.

Fields that OpenAI's clients send and that have no effect here are ignored and listed in the response header
`X-RoleLLM-Ignored`. Fields that would change the form of the answer and are not supported are rejected.
Tools are in `tool_wire`.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from rolellm_agents.text import replace_surrogates
from rolellm_graphs.server.tool_wire import ToolCall, ToolDefinition, chosen_tool

NO_UNICODE: Final = "no_unicode"
"""The type of the error for text that cannot be encoded."""

Temperature = Annotated[float, Field(ge=0, le=2)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Penalty = Annotated[float, Field(ge=-2, le=2)]
Tokens = Annotated[int, Field(ge=1, le=1_000_000)]
StopMark = Annotated[str, Field(max_length=200)]


def as_list(given: Any) -> Any:
    """One text as a list; OpenAI's fields with several texts may have one."""
    return [given] if isinstance(given, str) else given


def _as_parts(given: Any) -> Any:
    return [{"type": "text", "text": given}] if isinstance(given, str) else given


class TextPart(BaseModel):
    """A text part of a message, the only kind that is supported."""

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[
        list[TextPart] | None,
        BeforeValidator(_as_parts, json_schema_input_type=str | list[TextPart] | None),
    ] = None
    name: str | None = Field(default=None, max_length=200)
    """The speaker, in scenes and group chats."""
    tool_calls: list[ToolCall] | None = None
    """The tools that the assistant called."""
    tool_call_id: str | None = None
    """The call that a message of the role `tool` answers."""
    function_call: Any = None
    """The former way to call tools; such calls and their results are left out."""

    @field_validator("content", mode="before")
    @classmethod
    def _only_text(cls, content: Any) -> Any:
        parts = content if isinstance(content, list) else []
        others = {str(part.get("type")) for part in parts if isinstance(part, dict)} - {"text"}
        if others:
            raise ValueError(f"only text is supported; leave out parts of type {', '.join(sorted(others))}")
        return content

    @property
    def text(self) -> str:
        """The complete text of the message."""
        return "".join(part.text for part in self.content or ())

    @property
    def has_calls(self) -> bool:
        """Whether the assistant called a tool or a function in this message."""
        return bool(self.tool_calls or self.function_call)


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = False


class UnicodeRequest(BaseModel):
    """A request whose texts can all be encoded."""

    @model_validator(mode="before")
    @classmethod
    def _only_unicode(cls, body: Any) -> Any:
        """Refuse halves of surrogate pairs, which JSON can express and nothing can encode."""
        for field, value in body.items() if isinstance(body, Mapping) else ():
            if any(map(_has_half_a_pair, (field, *_texts(value)))):
                raise PydanticCustomError(
                    NO_UNICODE,
                    "{field} contains half of a surrogate pair, which is no text; send whole characters",
                    {"field": replace_surrogates(field)},
                )
        return body


class GenerationRequest(UnicodeRequest):
    """The fields that chat and text completion requests share."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(min_length=1, max_length=300)
    """A persona's id, or `scene:` and a scene's; `@` and a strategy or a model may follow."""
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int = Field(default=1, ge=1, le=8)
    """The number of answers; must be 1 for a stream or a scene."""
    temperature: Temperature | None = None
    top_p: Fraction | None = None
    top_k: int | None = Field(default=None, ge=-1, le=100_000)
    """0 and -1 are off."""
    min_p: Fraction | None = None
    repeat_penalty: float | None = Field(
        default=None, gt=0, le=10, validation_alias=AliasChoices("repeat_penalty", "repetition_penalty")
    )
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    max_tokens: Tokens | None = None
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    stop: Annotated[
        list[StopMark] | None,
        Field(max_length=16),
        BeforeValidator(as_list, json_schema_input_type=str | list[str] | None),
    ] = None

    # A feature of OpenAI's API that personas do not support
    logit_bias: dict[str, float] | None = Field(default=None, max_length=0)

    @field_validator("top_k")
    @classmethod
    def _zero_is_off(cls, given: int | None) -> int | None:
        return 0 if given == -1 else given

    @property
    def longest(self) -> int | None:
        """The maximum length of the answer in tokens."""
        return self.max_tokens

    @property
    def stop_strings(self) -> list[str] | None:
        """The strings before which the answer ends."""
        return [mark for mark in self.stop or () if mark] or None

    @property
    def ignored(self) -> list[str]:
        """The names of the sent fields that have no effect."""
        return sorted(self.model_extra or {})


class ChatRequest(GenerationRequest):
    """`POST /v1/chat/completions`."""

    messages: list[ChatMessage] = Field(min_length=1, max_length=4096)
    max_completion_tokens: Tokens | None = None
    response_format: dict[str, Any] | None = None
    tools: list[ToolDefinition] | None = Field(default=None, max_length=512)
    tool_choice: Any = None
    """`none`, `auto`, `required`, or the tool that must be called."""
    parallel_tool_calls: bool | None = None
    """Whether an answer may have several calls."""
    logprobs: Literal[False] | None = None

    @field_validator("response_format")
    @classmethod
    def _known_format(cls, given: dict[str, Any] | None) -> dict[str, Any] | None:
        match given:
            case None | {"type": "text" | "json_object"}:
                return given
            case {"type": "json_schema", "json_schema": {"schema": _}}:
                return given
            case {"type": "json_schema"}:
                raise ValueError("a json_schema needs its schema in json_schema.schema")
            case _:
                raise ValueError('its type must be "text", "json_object" or "json_schema"')

    @field_validator("tool_choice")
    @classmethod
    def _known_choice(cls, choice: Any, info: ValidationInfo) -> Any:
        if info.data.get("tools"):
            chosen_tool(choice, info.data["tools"])
        return choice

    @property
    def chosen_tool(self) -> str | None:
        """The tool that must be called; see `tool_wire.chosen_tool`."""
        return chosen_tool(self.tool_choice, self.tools) if self.tools else None

    @property
    def longest(self) -> int | None:
        """The maximum length of the answer in tokens."""
        return self.max_completion_tokens or self.max_tokens


class CompletionRequest(GenerationRequest):
    """`POST /v1/completions`: one user line to a persona."""

    prompt: Annotated[
        list[str],
        Field(min_length=1, max_length=1),
        BeforeValidator(as_list, json_schema_input_type=str | list[str]),
    ]
    echo: Literal[False] | None = None
    logprobs: Literal[0] | None = None

    @property
    def line(self) -> str:
        """The user's line."""
        return self.prompt[0]


class PromptDetails(BaseModel):
    """How many tokens of the prompt came from the cache."""

    cached_tokens: int = 0
    """Tokens that were prefilled by an earlier request."""


class CompletionDetails(BaseModel):
    """Parts of an answer's tokens."""

    reasoning_tokens: int = 0
    """Tokens of the model's reasoning."""


class Usage(BaseModel):
    """Token counts, by the model's own tokenizer."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: PromptDetails = PromptDetails()
    completion_tokens_details: CompletionDetails = CompletionDetails()


class SceneMessage(BaseModel):
    """One line of a scene that the user witnessed."""

    role: Literal["assistant"] = "assistant"
    name: str
    """The seat, or `narrator`."""
    kind: str
    """say, whisper, think, act, narrate, join or leave."""
    content: str


class SceneReply(BaseModel):
    """The data of a scene's answer in addition to its text."""

    messages: list[SceneMessage]
    seat: str
    """The user's seat, which speaks the `user` messages."""
    ended: str
    """Why the scene is over; empty while it continues."""


class AnswerMessage(BaseModel):
    """The message of an answer."""

    role: Literal["assistant"] = "assistant"
    content: str | None
    """None if the answer only calls tools."""
    reasoning_content: str | None = Field(default=None, exclude_if=lambda given: given is None)
    """What a model that reasons has thought, as vLLM, llama-server and DeepSeek send it."""
    tool_calls: list[ToolCall] | None = Field(default=None, exclude_if=lambda given: given is None)
    """The tools that the model calls."""
    name: str | None = None
    """The persona's id."""


class ChatChoice(BaseModel):
    """One of the answers."""

    index: int
    message: AnswerMessage
    finish_reason: str
    logprobs: None = None


class ChatCompletion(BaseModel):
    """The answer to `POST /v1/chat/completions`."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: Usage
    scene: SceneReply | None = None
    """Only in answers of scenes."""


class TextChoice(BaseModel):
    """One of the answers."""

    index: int
    text: str
    finish_reason: str
    logprobs: None = None


class TextCompletion(BaseModel):
    """The answer to `POST /v1/completions`."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[TextChoice]
    usage: Usage


class ModelObject(BaseModel):
    """A persona, scene or model that can answer."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "rolellm"
    name: str
    description: str
    context_length: int | None = Field(default=None, exclude_if=lambda given: given is None)
    """The context of the model behind it, in tokens; left out if unknown."""
    abilities: list[str] = []
    """What the model behind it is known to be able to do: tools, JSON, reasoning."""


class ModelList(BaseModel):
    """The answer to `GET /v1/models`."""

    object: Literal["list"] = "list"
    data: list[ModelObject]


class Health(BaseModel):
    """The answer to `GET /health`."""

    status: Literal["ok"] = "ok"
    version: str
    answering: int
    """The number of answers being generated."""
    waiting: int
    """The number of requests in the queue."""


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, names included."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, Mapping):
            waiting += [*value, *value.values()]


def _has_half_a_pair(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
