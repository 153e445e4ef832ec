"""Separate a model's reasoning from its answer, also while both are streamed.

Models that reason write their thoughts between marks before they answer. Servers with a parser for a model
send them apart, as `reasoning_content`; everybody else gets one text. Thoughts are no part of an answer: no
one hears them, and no later prompt contains them. They are kept in
`additional_kwargs["reasoning_content"]`, from where LangChain's `content_blocks` reads them, too.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from rolellm_agents.models.stop_strings import overlap

REASONING: Final = "reasoning_content"
"""The key of a message's `additional_kwargs` for its reasoning."""


Thinking = Literal["off", "low", "medium", "high"]
"""How much a model reasons before it answers."""


class ReasoningMarks(NamedTuple):
    """The marks of one family of models."""

    opens: str
    closes: str
    space: str = "\n"
    """What follows the opening mark."""
    answers: str = ""
    """What begins an answer, with or without reasoning before it."""


FORMATS: Final = (
    ReasoningMarks("<think>", "</think>"),  # DeepSeek R1, Qwen 3, GLM 4.5, SmolLM3 and most others
    # gpt-oss (cookbook.openai.com/articles/openai-harmony)
    ReasoningMarks("<|channel|>analysis", "<|end|>", "<|message|>", "<|channel|>final<|message|>"),
    ReasoningMarks("<|channel|>commentary", "<|end|>", "<|message|>", "<|channel|>final<|message|>"),
    ReasoningMarks("<|channel>thought", "<channel|>"),  # Gemma 4
    ReasoningMarks("[THINK]", "[/THINK]", ""),  # Magistral
    ReasoningMarks("<seed:think>", "</seed:think>"),  # Seed-OSS
    ReasoningMarks("<|START_THINKING|>", "<|END_THINKING|>", ""),  # Command A Reasoning
    ReasoningMarks("◁think▷", "◁/think▷"),  # Kimi-VL
    ReasoningMarks("<thinking>", "</thinking>"),
    ReasoningMarks("<thought>", "</thought>"),  # Gemini's OpenAI-compatible endpoint
)
_ANSWER_FOLLOWS: Final = "<|channel|>final"
_BETWEEN: Final = (
    _ANSWER_FOLLOWS,
    "<|start|>assistant",
    "<|message|>",
    "<|return|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
)
"""Marks that separate parts and belong to none."""
_OPENING: Final = {one.opens: one for one in FORMATS}
_STRAY: Final = tuple({one.closes for one in FORMATS} - {"<|end|>"})
"""Marks that mean nothing in an answer; other models use `<|end|>` to end a turn."""
_OUTSIDE: Final = (*_OPENING, *_STRAY, *_BETWEEN)
_FIRST: Final = frozenset(mark[0] for mark in _OUTSIDE)
"""The characters with which marks begin."""
CONTROL_TEXTS: Final = frozenset(
    {"<|channel|>", "<|channel>", "<|start|>", *_BETWEEN, *_OPENING, *(one.closes for one in FORMATS)}
)
"""Texts that are control tokens in some vocabularies; an engine must not drop them from an answer."""


def marks_in(template: str) -> ReasoningMarks | None:
    """The marks that a chat template mentions; None for a model that does not reason."""
    found = (one for one in FORMATS if one.opens in template or _closes_in(one, template))
    return next(found, None)


def _closes_in(marks: ReasoningMarks, text: str) -> bool:
    """Whether a text has the closing mark, if this means nothing else to any model."""
    return marks.closes in _STRAY and marks.closes in text


def opens_reasoning(prompt: str) -> bool:
    """Whether a prompt ends with an opening mark, so that the model continues with its reasoning."""
    return prompt.rstrip().endswith(tuple(_OPENING))


class SplitPart(NamedTuple):
    """A piece of an answer or of its reasoning."""

    text: str
    is_reasoning: bool


class ReasoningSplitter:
    """Divides streamed text, wherever it was cut; a mark that is not complete yet is held back.

    White space between reasoning and the answer is dropped.
    """

    def __init__(self, inside: ReasoningMarks | None = None) -> None:
        """Begin with the answer, or inside of reasoning if the prompt has opened it."""
        self.inside = inside
        """The marks of the current reasoning; None in the answer."""
        self._held = ""
        self._blank = ""
        self._reasoned = inside is not None
        self._answered = False
        self.strays = 0
        """Number of closing marks in the answer."""

    def passes(self, text: str) -> bool:
        """Add text only if it certainly belongs to the answer as a whole, as nearly all text does."""
        waits = self.inside is not None or self._held or self._blank or not _FIRST.isdisjoint(text)
        if waits or not (self._answered or text[:1].strip()):
            return False
        self._answered = True
        return True

    def push(self, text: str) -> list[SplitPart]:
        """Add text, and return the parts that are certain."""
        self._held += text
        parts: list[SplitPart] = []
        if not _FIRST.isdisjoint(self._held):
            while (found := self._next_mark()) is not None:
                place, mark = found
                self._add(self._held[:place], parts)
                self._held = self._held[place + len(mark) :]
                self._pass(mark)
            sure = len(self._held) - max(overlap(self._held, mark) for mark in self._marks)
        else:
            sure = len(self._held)
        self._add(self._held[:sure], parts)
        self._held = self._held[sure:]
        return parts

    def end(self) -> list[SplitPart]:
        """The held-back text, at the end of the answer."""
        parts: list[SplitPart] = []
        self._add(self._held, parts)
        if self._blank and not self._reasoned:
            parts.append(SplitPart(self._blank, is_reasoning=False))
        self._held = self._blank = ""
        return parts

    def close(self) -> None:
        """Continue with the answer: the reasoning was ended from outside."""
        self.inside = None
        self._held = ""

    @property
    def _marks(self) -> tuple[str, ...]:
        return _OUTSIDE if self.inside is None else (self.inside.closes, *_BETWEEN)

    def _next_mark(self) -> tuple[int, str] | None:
        places = ((self._held.find(mark), mark) for mark in self._marks)
        return min(((place, mark) for place, mark in places if place >= 0), default=None)

    def _pass(self, mark: str) -> None:
        if self.inside is None:
            self.inside = _OPENING.get(mark)
            self._reasoned = True
            self.strays += mark in _STRAY
        elif mark in (self.inside.closes, _ANSWER_FOLLOWS):
            self.inside = None

    def _add(self, text: str, parts: list[SplitPart]) -> None:
        if self.inside is None and not self._answered:
            text = self._blank + text
            self._blank = "" if text.strip() else text
            if self._blank:
                return
            self._answered = bool(text)
            text = text.lstrip() if self._reasoned else text
        if text:
            parts.append(SplitPart(text, self.inside is not None))


def split_reasoning(text: str) -> tuple[str, str]:
    """The answer and the reasoning of a complete text.

    A closing mark without an opening one ends reasoning that the prompt has opened.
    """
    place, closing = _first_closing(text)
    is_opened = closing is None or closing.opens in text[:place]
    splitter = ReasoningSplitter(None if is_opened else closing)
    parts = [*splitter.push(text), *splitter.end()]
    answer = "".join(part.text for part in parts if not part.is_reasoning)
    return answer, "".join(part.text for part in parts if part.is_reasoning).strip()


def _first_closing(text: str) -> tuple[int, ReasoningMarks | None]:
    """The first closing mark of a text: its place and its family."""
    found = [(text.find(one.closes), number) for number, one in enumerate(FORMATS) if _closes_in(one, text)]
    place, number = min(found, default=(-1, -1))
    return place, FORMATS[number] if found else None


AnyMessage = TypeVar("AnyMessage", bound=BaseMessage)


def without_reasoning(message: AnyMessage) -> AnyMessage:
    """An answer with its reasoning apart; the same message if there is none or its content is no text."""
    content = message.content
    if not isinstance(message, AIMessage) or not isinstance(content, str) or _FIRST.isdisjoint(content):
        return message
    answer, reasoning = split_reasoning(content)
    if answer == content:
        return message
    kept = str(message.additional_kwargs.get(REASONING) or "")
    apart = {REASONING: kept + reasoning} if kept + reasoning else {}
    options = {**message.additional_kwargs, **apart}
    return message.model_copy(update={"content": answer, "additional_kwargs": options})


def reasoning_of(message: AIMessage) -> str:
    """The reasoning before an answer; empty if there is none or the provider keeps it."""
    if isinstance(message.content, str):
        return str(message.additional_kwargs.get(REASONING) or "").strip()
    said = [
        str(block.get("reasoning") or "")
        for block in message.content_blocks
        if block["type"] == "reasoning"
    ]
    return "\n\n".join(filter(None, said)).strip()


class ReasoningChunks:
    """Separates the chunks of one streamed answer."""

    def __init__(self, *, opened: bool = False) -> None:
        """Separate an answer.

        Args:
            opened: the prompt has probably opened reasoning, so that only its closing mark will come. All
                text is held back until it is clear.
        """
        self.splitter = ReasoningSplitter()
        self._opened = opened
        self._unclear = ""
        self._was_cut = False
        self.opens: bool | None = None
        """Whether the prompt has opened reasoning; None if the answer does not tell."""

    def push(self, chunk: ChatGenerationChunk) -> Iterator[ChatGenerationChunk]:
        """Add a chunk, and yield those that are certain."""
        message = chunk.message
        if not isinstance(message.content, str):
            yield chunk
            return
        self._was_cut |= (chunk.generation_info or {}).get("finish_reason") == "length"
        if self._opened:
            message.content = self._clear(message)
        if self.splitter.passes(message.content):
            yield chunk
            return
        before = self.splitter.strays
        parts = self.splitter.push(message.content)
        if self.splitter.strays > before:
            self.opens = True
        if getattr(message, "chunk_position", None) == "last":
            parts += self.splitter.end()
        yield from chunks_of(parts)
        if _has_more(chunk) or not message.content:
            message.content = ""
            yield chunk

    def end(self) -> Iterator[ChatGenerationChunk]:
        """Yield the rest, if the stream had no last chunk."""
        text = self._settled(None) if self._opened else ""
        parts = self.splitter.push(text) if text else []
        yield from chunks_of([*parts, *self.splitter.end()])

    def _clear(self, message: BaseMessage) -> str:
        """The text up to now once it is clear whether it began with reasoning; until then nothing."""
        self._unclear += str(message.content)
        _, closing = _first_closing(self._unclear)
        is_apart = bool(message.additional_kwargs.get(REASONING))
        is_over = getattr(message, "chunk_position", None) == "last"
        if closing is None and not is_apart and not is_over:
            return ""
        return self._settled(closing)

    def _settled(self, closing: ReasoningMarks | None) -> str:
        """The held-back text, from which on nothing is held back."""
        text, self._unclear, self._opened = self._unclear, "", False
        if closing is None and self._was_cut:
            closing = FORMATS[0]  # the limit came before the end of the reasoning
        self.opens = closing is not None and not text.lstrip().startswith(closing.opens)
        if self.opens:
            self.splitter = ReasoningSplitter(closing)
        return text


def chunks_of(parts: Iterable[SplitPart]) -> Iterator[ChatGenerationChunk]:
    """Chunks with the parts of an answer as content, and those of its reasoning apart."""
    for text, is_reasoning in parts:
        if is_reasoning:
            message = AIMessageChunk(content="", additional_kwargs={REASONING: text})
        else:
            message = AIMessageChunk(content=text)
        yield ChatGenerationChunk(message=message)


def separated_result(result: ChatResult) -> ChatResult:
    """A complete result whose messages have their reasoning apart."""
    for generation in result.generations:
        generation.message = without_reasoning(generation.message)
    return result


def _has_more(chunk: ChatGenerationChunk) -> bool:
    """Whether a chunk has anything besides text."""
    message = chunk.message
    if not isinstance(message, AIMessageChunk):
        return True
    return bool(
        message.additional_kwargs
        or message.response_metadata
        or message.usage_metadata
        or message.tool_call_chunks
        or message.chunk_position
    )
