"""What comes over the wire and what goes back, in OpenAI's form.

Fields that OpenAI's clients send and that mean nothing here are passed over, and named in the header
`X-RoleLLM-Ignored`; those that would change the answer's form and cannot be had are refused.
"""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

Temperature = Annotated[float, Field(ge=0, le=2)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Penalty = Annotated[float, Field(ge=-2, le=2)]
Tokens = Annotated[int, Field(ge=1, le=1_000_000)]
StopMark = Annotated[str, Field(min_length=1, max_length=200)]


class TextPart(BaseModel):
    """A piece of a message that is text; others cannot be read here."""

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart] | None = None
    name: str | None = Field(default=None, max_length=200)
    """Who speaks, in scenes and in groups."""

    @field_validator("content", mode="before")
    @classmethod
    def _only_text(cls, content: Any) -> Any:
        parts = content if isinstance(content, list) else []
        others = {str(part.get("type")) for part in parts if isinstance(part, dict)} - {"text"}
        if others:
            raise ValueError(
                f"only text can be read here; leave out parts of type {', '.join(sorted(others))}"
            )
        return content

    @property
    def text(self) -> str:
        """All of it."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class StreamOptions(BaseModel):
    """What is told in a stream besides the words."""

    include_usage: bool = False


class GenerationRequest(BaseModel):
    """What every request for an answer may say."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(min_length=1, max_length=300)
    """A persona's id, or `scene:` and a scene's; `@` and a strategy or a model may follow."""
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int = Field(default=1, ge=1, le=8)
    """Answers beside each other; one, in a stream and for a scene."""
    temperature: Temperature | None = None
    top_p: Fraction | None = None
    top_k: int | None = Field(default=None, ge=0, le=100_000)
    min_p: Fraction | None = None
    repeat_penalty: float | None = Field(
        default=None, gt=0, le=10, validation_alias=AliasChoices("repeat_penalty", "repetition_penalty")
    )
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    max_tokens: Tokens | None = None
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    stop: StopMark | Annotated[list[StopMark], Field(max_length=16)] | None = None

    # What OpenAI has and personas have not
    tools: list[Any] | None = Field(default=None, max_length=0)
    functions: list[Any] | None = Field(default=None, max_length=0)
    logit_bias: dict[str, float] | None = Field(default=None, max_length=0)

    @property
    def longest(self) -> int | None:
        """Tokens of the answer at most."""
        return self.max_tokens

    @property
    def marks(self) -> list[str] | None:
        """The words before which the answer ends."""
        return [self.stop] if isinstance(self.stop, str) else self.stop

    @property
    def ignored(self) -> list[str]:
        """Fields that were sent and mean nothing here."""
        return sorted(self.model_extra or {})


class ChatRequest(GenerationRequest):
    """`POST /v1/chat/completions`."""

    messages: list[ChatMessage] = Field(min_length=1, max_length=4096)
    max_completion_tokens: Tokens | None = None
    response_format: dict[str, Any] | None = None
    logprobs: Literal[False] | None = None

    @property
    def longest(self) -> int | None:
        """Tokens of the answer at most."""
        return self.max_completion_tokens or self.max_tokens


class CompletionRequest(GenerationRequest):
    """`POST /v1/completions`: a line to a persona."""

    prompt: str | Annotated[list[str], Field(min_length=1, max_length=1)]
    echo: Literal[False] | None = None
    logprobs: Literal[0] | None = None

    @property
    def line(self) -> str:
        """What is said."""
        return self.prompt if isinstance(self.prompt, str) else self.prompt[0]


class PromptDetails(BaseModel):
    """Where the prompt's tokens came from."""

    cached_tokens: int = 0
    """Read before, and not again."""


class Usage(BaseModel):
    """Tokens, as the model counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: PromptDetails = PromptDetails()


class SceneMessage(BaseModel):
    """One line of a scene that the person in it witnessed."""

    role: Literal["assistant"] = "assistant"
    name: str
    """The seat, or `narrator`."""
    kind: str
    """say, whisper, think, act, narrate, join or leave."""
    content: str


class SceneReply(BaseModel):
    """What a scene's answer tells besides its text."""

    messages: list[SceneMessage]
    seat: str
    """Whose lines the `user` messages are."""
    ended: str
    """Why the scene is over; empty while it is not."""


class AnswerMessage(BaseModel):
    """An answer."""

    role: Literal["assistant"] = "assistant"
    content: str
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
    """Of a scene alone."""


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
    """One who can be asked."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "rolellm"
    name: str
    description: str


class ModelList(BaseModel):
    """The answer to `GET /v1/models`."""

    object: Literal["list"] = "list"
    data: list[ModelObject]


class Health(BaseModel):
    """The answer to `GET /health`."""

    status: Literal["ok"] = "ok"
    version: str
    answering: int
    """Answers on their way."""
    waiting: int
    """Requests in the queue."""
