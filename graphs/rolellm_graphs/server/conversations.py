"""Conversations that the server keeps, for protocols whose clients send only what is new.

They are kept in memory and within bounds: the least recently used is forgotten first.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator, Hashable
from contextlib import aclosing
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from pydantic import ValidationError
from starlette.types import Message

from rolellm_graphs.server.answers import Agent, AnswerPart, whole_answer
from rolellm_graphs.server.failures import ApiError, api_error
from rolellm_graphs.server.names import AgentName
from rolellm_graphs.server.service import Service
from rolellm_graphs.server.wire import ChatMessage, ChatRequest

_KEPT: Final = 512
_LENGTH: Final = 200_000
_BEGINNING: Final = {"role": "system", "content": "The scene begins."}
"""Stands in the request for a scene's first turn, in which nobody has said anything yet."""


@dataclass
class KeptConversation:
    """The messages between a client and a persona or scene."""

    name: AgentName
    messages: list[ChatMessage] = field(default_factory=list)
    answering: bool = False
    """Whether an answer is being generated."""

    @property
    def length(self) -> int:
        """The number of characters of all messages."""
        return sum(len(message.text) for message in self.messages)


class Conversations:
    """The conversations of a server's clients."""

    def __init__(self, service: Service, *, kept: int = _KEPT, length: int = _LENGTH) -> None:
        """Create an empty memory.

        Args:
            service: answers.
            kept: the maximum number of conversations of all clients together.
            length: the maximum number of characters of a conversation.
        """
        self._service = service
        self._kept = kept
        self._length = length
        self._conversations: OrderedDict[tuple[Hashable, str], KeptConversation] = OrderedDict()

    def __len__(self) -> int:
        """The number of conversations that are kept."""
        return len(self._conversations)

    def find(self, client: Hashable, identifier: str) -> KeptConversation:
        """A conversation of a client.

        Raises:
            ApiError: the client has no such conversation, or it was forgotten.
        """
        found = self._conversations.get((client, identifier))
        if found is None:
            raise ApiError(
                HTTPStatus.NOT_FOUND,
                "There is no such conversation here, or it was forgotten; begin a new one.",
                code="conversation_not_found",
            )
        return found

    def begin(self, client: Hashable, name: AgentName, identifier: str | None = None) -> str:
        """Begin a conversation, or find it, and return its id.

        Args:
            client: identifies the client, who alone can continue the conversation.
            name: the persona or scene that answers.
            identifier: an id that the client has chosen; a new one when None.

        Raises:
            ApiError: the id belongs to a conversation with another persona or scene.
        """
        identifier = identifier or secrets.token_hex(16)
        key = (client, identifier)
        if self._conversations.setdefault(key, KeptConversation(name)).name != name:
            raise ApiError(
                HTTPStatus.CONFLICT, "This conversation belongs to another character; begin a new one."
            )
        self._conversations.move_to_end(key)
        self._forget_oldest(key)
        return identifier

    async def answer(
        self, client: Hashable, identifier: str, text: str | None
    ) -> AsyncGenerator[AnswerPart, None]:
        """Answer a client's next message, within the server's limits. Closing the generator stops it.

        Both messages are kept when the answer is complete. After an error the conversation is as before,
        so that the message can be sent again.

        Args:
            client: the client.
            identifier: the conversation's id.
            text: the message; None lets a scene go on without one.

        Raises:
            ApiError: the message cannot be answered.
        """
        conversation = self.find(client, identifier)
        if conversation.answering:
            raise ApiError(
                HTTPStatus.CONFLICT,
                "This conversation is being answered already; wait for the answer, or begin a new one.",
            )
        conversation.answering = True
        try:
            body = self._request(conversation, text)
            agent = await asyncio.to_thread(self._service.agents.find, conversation.name)
            parts: list[AnswerPart] = []
            async with aclosing(self._parts(client, agent, body)) as answer:
                async for part in answer:
                    parts.append(part)
                    yield part
            said = ChatMessage(role="assistant", content=whole_answer(parts).text)
            spoken = [message for message in body.messages if message.role != _BEGINNING["role"]]
            conversation.messages = [*spoken, said]
        except ApiError:
            raise
        except Exception as error:
            raise api_error(error) from error
        finally:
            conversation.answering = False
            if not conversation.messages:
                self._conversations.pop((client, identifier), None)

    def _request(self, conversation: KeptConversation, text: str | None) -> ChatRequest:
        if conversation.length + len(text or "") > self._length:
            raise ApiError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"With this message, the conversation would be longer than {self._length:,} characters; "
                "begin a new one.",
            )
        try:
            earlier = [{"role": one.role, "content": one.text} for one in conversation.messages]
            said = [] if text is None else [{"role": "user", "content": text}]
            messages = [*earlier, *said] or [_BEGINNING]
            return ChatRequest.model_validate({"model": conversation.name.id, "messages": messages})
        except ValidationError as error:
            raise ApiError(
                HTTPStatus.BAD_REQUEST,
                "The message cannot be read as text; send whole Unicode characters.",
            ) from error

    async def _parts(
        self, client: Hashable, agent: Agent, body: ChatRequest
    ) -> AsyncGenerator[AnswerPart, None]:
        async with self._service.admission.turn(client, _stays):
            streamed = self._service.streamed_answer(agent, body)
            try:
                while parts := await streamed.next():
                    for part in parts:
                        yield part
            finally:
                await streamed.stop()

    def _forget_oldest(self, new: tuple[Hashable, str]) -> None:
        excess = len(self._conversations) - self._kept
        idle = [key for key, one in self._conversations.items() if not one.answering and key != new]
        for key in idle[: max(0, excess)]:
            del self._conversations[key]


async def _stays() -> Message:
    """An ASGI `receive` of a client that never leaves: whoever cancels an answer closes its generator."""
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}
