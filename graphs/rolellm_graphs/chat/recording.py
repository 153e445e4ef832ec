"""An answer's words on their way into the transcript: they are stored before anybody sees them."""

import time
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import whole
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import Ending, Kind
from rolellm_graphs.events import TokenDelta

_TOLD_AT_THE_END = ("seed", "finish_reason", "dropped_messages", "threads")


class Recording:
    """One message that is being said, from its first word to its end."""

    def __init__(
        self,
        transcript: Transcript,
        conversation: str,
        parent: str | None,
        *,
        speaker: str,
        branch: str,
    ) -> None:
        """Nothing is stored before the first word.

        Args:
            transcript: where it goes.
            conversation: in which it is said.
            parent: the message that it follows.
            speaker: who says it.
            branch: that points to it from its first word on.
        """
        self.text = ""
        """Its words so far."""
        self.message: Message | None = None
        """The message when it has ended; None before."""
        self._transcript = transcript
        self._conversation = conversation
        self._parent = parent
        self._speaker = speaker
        self._branch = branch
        self._id: str | None = None
        self._started = time.perf_counter()
        self._first_word_s = 0.0

    @property
    def begun(self) -> bool:
        """Whether there is a word of it."""
        return self._id is not None

    def add(
        self, words: str, *, audience: Sequence[str], made_by: dict[str, Any], kind: Kind = "say"
    ) -> TokenDelta:
        """Store the next words.

        Args:
            words: what came.
            audience: who witnesses it; the first words decide.
            made_by: what is known of its making by now; the first words' counts.
            kind: what it is; likewise.

        Raises:
            StorageError: they could not be stored.
        """
        said = whole(words)
        if self._id is None:
            self._first_word_s = time.perf_counter() - self._started
            self._id = self._transcript.begin(
                self._conversation,
                self._parent,
                speaker=self._speaker,
                audience=audience,
                kind=kind,
                made_by=made_by,
                branch=self._branch,
            )
        self._transcript.add_piece(self._id, said)
        self.text += said
        return TokenDelta(message=self._id, text=said)

    def end(
        self,
        status: Ending,
        answer: AIMessage | None,
        made_by: dict[str, Any],
        *,
        text: str | None = None,
        kind: Kind | None = None,
    ) -> Message | None:
        """Give it its end; None when there was no word of it.

        Args:
            status: how it ended.
            answer: the model's whole message, if it came to its end.
            made_by: what is known of its making only now.
            text: its words as they shall stand, if not as they came.
            kind: what it turned out to be, if not what its first words said.

        Raises:
            StorageError: it could not be stored.
        """
        if self._id is None:
            return None
        self.message = self._transcript.end(
            self._id,
            self.text if text is None else text,
            status,
            dict(answer.usage_metadata or {}) if answer else None,
            self._told(answer) | made_by,
            kind=kind,
        )
        return self.message

    def fail(self) -> None:
        """Keep what there is of it after an error."""
        if self._id is None:
            return
        try:
            self.message = self._transcript.end(self._id, self.text, "failed")
        except RoleLLMError:
            # It was the transcript that failed; the pieces written so far stay in it.
            return

    def _told(self, answer: AIMessage | None) -> dict[str, Any]:
        told = told_at_the_end(answer) if answer else {}
        times = {
            "first_token_s": round(self._first_word_s, 3),
            "seconds": round(time.perf_counter() - self._started, 3),
        }
        return told | times


def told_at_the_end(answer: AIMessage) -> dict[str, Any]:
    """What a model tells of an answer when it is complete."""
    metadata = answer.response_metadata
    return {key: metadata[key] for key in _TOLD_AT_THE_END if metadata.get(key) is not None}
