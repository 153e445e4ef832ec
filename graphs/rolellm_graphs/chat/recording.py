"""Record an answer while it is generated: each word is stored before it is shown."""

import time
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.reasoning import REASONING, reasoning_of
from rolellm_agents.text import replace_surrogates
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import Ending, Kind
from rolellm_graphs.events import TokenDelta

_FINAL_METADATA = ("seed", "finish_reason", "dropped_messages", "threads")


class Recording:
    """One message of the transcript, recorded from its first word to its end."""

    def __init__(
        self,
        transcript: Transcript,
        conversation: str,
        parent: str | None,
        *,
        speaker: str,
        branch: str,
    ) -> None:
        """Prepare the recording; nothing is stored before the first word.

        The branch points to the message from its first word on.
        """
        self.text = ""
        """The text so far."""
        self.message: Message | None = None
        """The finished message; None before its end."""
        self._transcript = transcript
        self._conversation = conversation
        self._parent = parent
        self._speaker = speaker
        self._branch = branch
        self._id: str | None = None
        self._started = time.perf_counter()
        self._first_word_s = 0.0

    @property
    def started(self) -> bool:
        """Whether any text was stored."""
        return self._id is not None

    def add(
        self, words: str, *, audience: Sequence[str], made_by: dict[str, Any], kind: Kind = "say"
    ) -> TokenDelta:
        """Store the next words.

        Audience, provenance and kind are used with the first words only.

        Raises:
            StorageError: the words could not be stored.
        """
        said = replace_surrogates(words)
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
        """Finish the message and return it; None if it is empty.

        Text and kind are given if they differ from those that are recorded; `answer` is the model's
        message, if it is complete. `made_by` adds provenance which is known only at the end.

        Raises:
            StorageError: the message could not be stored.
        """
        if self._id is None:
            return None
        self.message = self._transcript.end(
            self._id,
            self.text if text is None else text,
            status,
            dict(answer.usage_metadata or {}) if answer else None,
            self._final_provenance(answer) | made_by,
            kind=kind,
        )
        return self.message

    def fail(self) -> None:
        """Finish the message after an error, with the text so far."""
        if self._id is None:
            return
        try:
            self.message = self._transcript.end(self._id, self.text, "failed")
        except RoleLLMError:
            # The transcript itself failed; it keeps the pieces that were written before.
            return

    def _final_provenance(self, answer: AIMessage | None) -> dict[str, Any]:
        provenance = final_provenance(answer) if answer else {}
        times = {
            "first_token_s": round(self._first_word_s, 3),
            "seconds": round(time.perf_counter() - self._started, 3),
        }
        return provenance | times


def final_provenance(answer: AIMessage) -> dict[str, Any]:
    """The provenance in a complete answer: what its `response_metadata` has, and its reasoning."""
    metadata = answer.response_metadata
    provenance = {key: metadata[key] for key in _FINAL_METADATA if metadata.get(key) is not None}
    reasoning = replace_surrogates(reasoning_of(answer))
    return {**provenance, REASONING: reasoning} if reasoning else provenance
