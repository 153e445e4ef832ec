"""The summaries of one conversation: reading, editing, and writing new ones in the background."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel

from rolellm_agents.errors import MessageError, ModelError, StorageError
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.local import LocalModel
from rolellm_agents.models.separated import separated
from rolellm_agents.prompting.summary import SUMMARY_TOKENS
from rolellm_agents.text import replace_surrogates
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs.chat.summary import ActiveSummary, ChatSummaryRequest, active_summary, summary_needed
from rolellm_graphs.chat.voice import Voice


class Summaries:
    """The summaries of a conversation, by the message up to which each reaches."""

    def __init__(self, transcript: Transcript, conversation: str | None) -> None:
        """Read the summaries of a conversation; a new one has none.

        Raises:
            StorageError: the transcript cannot be read.
        """
        self.texts: dict[str, str] = transcript.summaries(conversation) if conversation else {}
        """The summaries by the id of the last message that each covers."""
        self._transcript = transcript
        self.writing: asyncio.Task[bool] | None = None
        """The work on new summaries, which may be cancelled; None when there is none."""
        self._failed = False

    def active(self, path: Sequence[Message]) -> ActiveSummary | None:
        """The summary that counts on a path."""
        return active_summary(path, self.texts)

    def edit(self, path: Sequence[Message], text: str) -> None:
        """Replace the summary that counts on a path; an empty text removes it.

        Raises:
            MessageError: there is no summary.
            StorageError: the text could not be recorded.
        """
        summary = self.active(path)
        if summary is None:
            raise MessageError("There is no summary; all earlier messages are in the prompt.")
        self._keep(summary.message, text.strip())

    async def write(self, voice: Voice, path: Callable[[], Sequence[Message]]) -> bool:
        """Let the voice's model summarize what does not fit into its context, or will not soon.

        Args:
            voice: the voice that answers next.
            path: returns the messages of the current branch.

        Returns:
            Whether there is a new summary.

        Raises:
            ModelError: the model could not summarize the messages; raised once.
            StorageError: a summary could not be recorded.
        """
        if self.writing or self._failed:
            return False
        before = len(self.texts)
        self.writing = work = asyncio.ensure_future(self._write(voice, path))
        try:
            await asyncio.wait({work})
            return (len(self.texts) > before) if work.cancelled() else work.result()
        finally:
            work.cancel()
            self.writing = None

    async def _write(self, voice: Voice, path: Callable[[], Sequence[Message]]) -> bool:
        written = False
        try:
            while True:
                said = path()
                request = await asyncio.to_thread(summary_needed, voice, said, self.active(said))
                if request is None:
                    return written
                self._keep(request.message, await _answer(voice.model, request))
                written = True
        except StorageError:
            raise
        except Exception as error:
            self._failed = True
            explained = explain_failure(error, voice.model)
            if explained is None:
                raise
            raise ModelError(
                f"The earlier messages could not be summarized ({str(explained).rstrip('.')}); "
                "the chat goes on without a summary."
            ) from error

    def _keep(self, message: str, text: str) -> None:
        self._transcript.keep_summary(message, text)
        if text:
            self.texts[message] = text
        else:
            self.texts.pop(message, None)


async def _answer(model: BaseChatModel, request: ChatSummaryRequest) -> str:
    # A model on a server may think first, which would count.
    options: dict[str, Any] = {"max_tokens": SUMMARY_TOKENS} if isinstance(model, LocalModel) else {}
    answer = await separated(model).ainvoke(request.messages, **options)
    text = replace_surrogates(answer.text).strip()
    if not text:
        raise ModelError("its answer is empty")
    return text
