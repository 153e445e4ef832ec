"""Answers of an agent: one task for each message, whose artifact is the answer."""

from contextlib import aclosing
from typing import Final

from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import InvalidParamsError, Part

from rolellm_graphs.a2a.callers import Caller, caller_of
from rolellm_graphs.server.answers import AnswerChunk
from rolellm_graphs.server.conversations import Conversations
from rolellm_graphs.server.failures import api_error

_ANSWER: Final = "answer"
_LONGEST_ID: Final = 200


class AnswerExecutor(AgentExecutor):
    """Answers messages as the persona or scene that the caller has chosen."""

    def __init__(self, conversations: Conversations) -> None:
        """Create the executor.

        Args:
            conversations: the conversations by their context ids.
        """
        self._conversations = conversations

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer a message.

        Raises:
            InvalidParamsError: the message has no text, or its context id is too long.
        """
        text = _text_of(context)
        message, task_id, context_id = context.message, context.task_id, context.context_id
        assert message and task_id and context_id, "the SDK fills them"  # noqa: S101, PT018
        if len(context_id) > _LONGEST_ID:
            raise InvalidParamsError(f"A contextId has at most {_LONGEST_ID} characters; choose a shorter.")
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(message))
        updater = TaskUpdater(event_queue, task_id, context_id)
        await updater.start_work()
        try:
            await self._answer(caller_of(context.call_context), context_id, text, updater)
        except Exception as error:  # noqa: BLE001 - whatever it is, the task ends with it
            sentence = api_error(error).message
            await updater.failed(updater.new_agent_message([Part(text=sentence)]))
        else:
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Note that a task is canceled; the SDK has stopped its answer."""
        assert context.task_id, "the SDK fills them"  # noqa: S101
        assert context.context_id, "the SDK fills them"  # noqa: S101
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    async def _answer(self, caller: Caller, context_id: str, text: str, updater: TaskUpdater) -> None:
        whose = (caller.client, caller.agent)
        self._conversations.begin(whose, caller.agent, context_id)
        begun = False
        async with aclosing(self._conversations.answer(whose, context_id, text)) as answer:
            async for part in answer:
                if isinstance(part, AnswerChunk) and part.text and not part.is_reasoning:
                    await updater.add_artifact(
                        [Part(text=part.text)], artifact_id=_ANSWER, name=_ANSWER, append=begun
                    )
                    begun = True


def _text_of(context: RequestContext) -> str:
    parts = list(context.message.parts) if context.message else []
    if any(part.WhichOneof("content") != "text" for part in parts):
        raise InvalidParamsError("Only text is supported; leave out parts of other kinds.")
    text = "\n".join(part.text for part in parts).strip()
    if not text:
        raise InvalidParamsError("The message is empty; write some text.")
    return text
