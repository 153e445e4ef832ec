"""A scripted model that reads ahead, as those in this process do, and notes what it was given."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from pydantic import Field

from rolellm_agents.errors import ModelError
from rolellm_agents.models.scripted import ScriptedChatModel


class Reading:
    """What was asked for, and whether it still is."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.texts = [message.text for message in messages]
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ReadingModel(ScriptedChatModel):
    """`readings` holds what was to be read ahead, oldest first."""

    readings: list[Reading] = Field(default_factory=list)
    broken: bool = False
    loads: int = 0

    def load(self) -> object:
        self.loads += 1
        return self

    def prefetch(self, messages: Sequence[BaseMessage]) -> Reading:
        if self.broken:
            raise ModelError("It does not fit.")
        self.readings.append(Reading(messages))
        return self.readings[-1]
