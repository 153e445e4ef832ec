"""A model whose tokens are words, and to which the words of its instruction are likelier than others."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from langchain_core.messages import BaseMessage
from pydantic import Field, PrivateAttr

from rolellm_agents.errors import ModelError
from rolellm_agents.models.scripted import ScriptedChatModel

HEARD, UNHEARD = math.log(0.5), math.log(0.1)
"""Log-probabilities of words that stand in the instruction and of those that do not."""


def _nobody(_reply: str) -> bool:
    return False


class WordScoringModel(ScriptedChatModel):
    """Scores in a thread of its own, as the real one does, so that scores come after a while."""

    fails: Callable[[str], bool] = _nobody
    """Whether a reply cannot be scored."""
    seconds: float = 0.0
    asked: list[tuple[str, str]] = Field(default_factory=list)
    """Instruction and reply of each score, in the order in which they were asked for."""
    answered_before: list[int] = Field(default_factory=list)
    """For each of them how many scores were there when it was asked for."""

    _answered: int = PrivateAttr(default=0)
    _futures: list["Future[list[float]]"] = PrivateAttr(default_factory=list)

    def score(self, messages: Sequence[BaseMessage], continuation: str) -> "Future[list[float]]":
        """One number for each word."""
        instruction = messages[0].text
        self.asked.append((instruction, continuation))
        self.answered_before.append(self._answered)
        if self.fails(continuation):
            raise ModelError("The reply does not fit into the context; shorten it.")
        known = set(instruction.lower().replace(".", "").split())
        found = [HEARD if word.lower().strip(".,") in known else UNHEARD for word in continuation.split()]
        future: Future[list[float]] = Future()
        self._futures.append(future)
        threading.Thread(target=self._answer, args=(future, found)).start()
        return future

    def given_up(self) -> int:
        """How many scores were called off, which the real model's thread would stumble over."""
        return sum(future.cancelled() for future in self._futures)

    def _answer(self, future: "Future[list[float]]", found: list[float]) -> None:
        time.sleep(self.seconds)
        self._answered += 1
        if not future.cancelled():
            future.set_result(found)
