"""A model whose answers depend on the prompt and the seed alone, as those of a seeded model do."""

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import pytest
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGenerationChunk

from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import PROVIDERS, Provider
from rolellm_agents.models.threaded import ThreadedChatModel

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


class Asked(NamedTuple):
    """One call of such a model."""

    style: str
    read: int
    """Words of its prompt."""
    said: int


class ImprovisingModel(ThreadedChatModel):
    """Speaks in made-up words; acts, whispers, thinks, makes faults and fills forms, as it comes."""

    style: str = ""
    """Another style says other words to the same prompt; `broken` fails at some, `mute` at all."""
    names: tuple[str, ...] = ()
    """To whom it whispers, and whom it chooses as a director."""
    length: int = 8
    """Words of a sentence."""
    temperature: float | None = None
    """0 pays no heed to seeds."""
    n_ctx: int | None = None
    max_tokens: int | None = None

    asked: ClassVar[list[Asked]] = []
    """Each call there was, of all these models together."""

    def load(self) -> object:
        return self

    def prefetch(self, messages: object) -> object:
        raise NotImplementedError

    def get_token_ids(self, text: str) -> list[int]:
        """One token for each word, which is not what is estimated for other models."""
        return [len(word) for word in text.split()]

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        prompt = "\n".join(f"{message.type}: {message.text}" for message in messages)
        seed = 0 if self.temperature == 0 else options.get("seed")
        chance = random.Random(hashlib.sha256(f"{self.style} {seed} {prompt}".encode()).digest())
        if self.style == "mute" or (self.style == "broken" and chance.random() < 0.15):
            raise ModelError("The model broke down.")
        words = re.findall(r"\s*\S+", self._answer(messages[-1].text, chance))
        read = len(prompt.split())
        self.asked.append(Asked(self.style, read, len(words)))
        for word in words:
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))
        usage = UsageMetadata(
            input_tokens=read,
            output_tokens=len(words),
            total_tokens=read + len(words),
            input_token_details=InputTokenDetails(cache_read=read // 2),
        )
        yield ChatGenerationChunk(
            message=AIMessageChunk(content="", usage_metadata=usage, chunk_position="last")
        )

    def _answer(self, asked: str, chance: random.Random) -> str:
        if '{"want"' in asked:
            return json.dumps({"want": chance.randint(0, 9)})
        if '{"next"' in asked:
            return json.dumps({"next": chance.choice(self.names or ("Nobody",))})
        sentence = " ".join(_word(chance) for _ in range(self.length)) + "."
        whispered = f"(whispers to {chance.choice(self.names)}) {sentence}" if self.names else sentence
        faulty = f"As an AI language model, I cannot {sentence}"
        kinds = (sentence, sentence, f"*{sentence}*", whispered, f"(thinks) {sentence}", faulty)
        return chance.choice(kinds)

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"], params["ls_model_name"] = "improvising", self.style
        return params

    @property
    def _llm_type(self) -> str:
        return "improvising"


def _word(chance: random.Random) -> str:
    return "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(3))


@contextmanager
def improvising(**settings: Any) -> Iterator[list[Asked]]:
    """While it lasts, `improvising:STYLE` names such a model, made with these settings; gives all calls."""

    def make(style: str, options: Mapping[str, Any]) -> ImprovisingModel:
        known = {key: value for key, value in options.items() if key in ImprovisingModel.model_fields}
        return ImprovisingModel(style=style, **{**settings, **known})

    with pytest.MonkeyPatch.context() as patched:
        provider = Provider("improvising", "improvising:", "for tests", make)
        patched.setitem(PROVIDERS, "improvising", provider)
        patched.setattr(ImprovisingModel, "asked", [])
        yield ImprovisingModel.asked
