"""A scripted model whose words depend on its prompt and seed alone, in whatever order it is asked."""

import asyncio
import hashlib
import json
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict, Field

_WORDS = (
    *("lamp", "storm", "herring", "oath", "rock", "winter", "gull", "rope", "father", "tide", "letter"),
    *("boat", "song", "bell", "fog", "knife", "bread"),
)


_FRAMES = ("what do you say of", "why did nobody steal", "who taught your sister about")


class Oracle(BaseChatModel):
    """Writes questions when it is asked for JSON, else answers; `failures` are raised first, one a call."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name_of: str = "Ada"
    """Whom its questions are put to."""
    failures: list[Exception] = Field(default_factory=list)
    prose: bool = False
    """Write no JSON, whatever is asked."""
    spoiled: int = 0
    """Every so many answers it speaks as an assistant; 0 is never."""
    seconds: float = 0.0
    """The longest that an answer takes; how long depends on the prompt."""
    seed: int | None = None
    max_tokens: int = 60
    calls: list[list[BaseMessage]] = Field(default_factory=list)
    most_at_once: list[int] = Field(default_factory=lambda: [0, 0])
    """How many are asked now, and were at most."""

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.calls.append(messages)
        self.most_at_once[0] += 1
        self.most_at_once[1] = max(self.most_at_once)
        try:
            if self.failures:
                raise self.failures.pop(0)
            number = self._number(messages)
            await asyncio.sleep(self.seconds * (number % 97) / 97)
            return self._result(messages, self._words(messages[-1].text, number))
        finally:
            self.most_at_once[0] -= 1

    def _number(self, messages: list[BaseMessage]) -> int:
        told = "\n".join(message.text for message in messages)
        return int.from_bytes(hashlib.sha256(f"{self.seed} {told}".encode()).digest()[:6])

    def _words(self, asked: str, number: int) -> str:
        first, second, third = (_WORDS[number // 10**place % len(_WORDS)] for place in (0, 3, 6))
        if "JSON" in asked and not self.prose:
            questions = [
                {
                    "question": f"{self.name_of}, {frame} the {first}, the {second} and the {third}?",
                    "line": 1,
                    "reason": f"It names the {first}.",
                    "confidence": "high",
                }
                for frame in _FRAMES
            ]
            return json.dumps({"questions": questions})
        if self.spoiled and number % self.spoiled == 0:
            return "As an AI language model, I cannot say."
        return (
            f"I remember the {first} and the {second}, and I told them so by the {third} {number % 1000}."
        )

    def _result(self, messages: list[BaseMessage], words: str) -> ChatResult:
        read = sum(len(message.text.split()) for message in messages)
        written = len(words.split())
        usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(words, usage_metadata=usage))])

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return self._result(messages, self._words(messages[-1].text, self._number(messages)))

    @property
    def _llm_type(self) -> str:
        return "oracle"
