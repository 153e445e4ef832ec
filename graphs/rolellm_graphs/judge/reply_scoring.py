"""Log-probabilities of replies, computed concurrently; each prompt prefix is prefilled once."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final, Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.local import load_model
from rolellm_graphs.runs.items import AT_ONCE, prepared

_REMEMBERED: Final = 2 * AT_ONCE
"""Instructions that are assumed to be in the KV cache; older ones may have been evicted."""


@runtime_checkable
class ScoringModel(Protocol):
    """A model that returns log-probabilities of given answers."""

    def score(self, messages: Sequence[BaseMessage], continuation: str) -> "Future[list[float]]":
        """The natural logarithm of each token's probability."""


class ReplyScoring:
    """Scores replies for concurrent callers."""

    def __init__(self, model: BaseChatModel, *, model_name: str, at_once: int = AT_ONCE) -> None:
        """Prepare the scoring.

        The model returns log-probabilities; its name is for error messages.

        Raises:
            ModelError: the model returns no log-probabilities.
        """
        ready = prepared(model, at_once)
        if not isinstance(ready, ScoringModel):
            raise ModelError(
                f"{model_name} gives no probabilities of given words, which the judge “likelihood” needs; "
                "use a model in this process, such as llamacpp:smollm2."
            )
        self._model: ScoringModel = ready
        self._loadable = ready
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loading = asyncio.Lock()
        self._loaded = False
        self._read: OrderedDict[str, asyncio.Future[None]] = OrderedDict()

    async def load(self) -> None:
        """Open the model's file.

        Raises:
            ModelError: it cannot be loaded.
        """
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Locks and futures belong to one event loop.
            self._loop, self._loading = loop, asyncio.Lock()
            self._read.clear()
        async with self._loading:
            if not self._loaded:
                await asyncio.to_thread(load_model, self._loadable)
                self._loaded = True

    async def score(self, prompt: Sequence[BaseMessage], reply: str) -> list[float]:
        """The natural logarithm of the probability of each of the reply's tokens.

        The first reply to an instruction is scored alone and the others wait for it, so that the
        instruction is prefilled once.

        The prompt begins with the instruction; the reply is not empty.

        Raises:
            ModelError: the prompt does not fit, or the model cannot be loaded.
        """
        await self.load()
        instruction = prompt[0].text
        ahead = self._read.get(instruction)
        if ahead is not None:
            self._read.move_to_end(instruction)
            await asyncio.shield(ahead)
            return await self._scored(prompt, reply)
        mine = self._read[instruction] = asyncio.get_running_loop().create_future()
        if len(self._read) > _REMEMBERED:
            self._read.popitem(last=False)
        try:
            return await self._scored(prompt, reply)
        finally:
            mine.set_result(None)

    async def _scored(self, prompt: Sequence[BaseMessage], reply: str) -> list[float]:
        future = await asyncio.to_thread(self._model.score, prompt, reply)
        # A running score cannot be cancelled: the model's thread will set its result.
        return await asyncio.shield(asyncio.wrap_future(future))
