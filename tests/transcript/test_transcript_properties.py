"""Whatever is done to a transcript, in whatever order: what was said stays said."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from helpers.hypotheses import examples
from helpers.transcripts import BOTH
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)

from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.text import plain
from rolellm_agents.transcript import Message, Status, Transcript
from rolellm_agents.transcript.search_words import keys_of
from rolellm_agents.transcript.store import MAIN

TEXTS = st.text(max_size=12)
BRANCHES = st.sampled_from([MAIN, "branch-2", "a b'c"])


@dataclass
class Said:
    """A message as the tree in memory knows it."""

    conversation: str
    parent: str | None
    speaker: str
    text: str
    status: Status
    made_by: dict[str, Any]


class TranscriptMachine(RuleBasedStateMachine):
    """Does the same to a transcript in a file and to plain dictionaries."""

    conversations = Bundle("conversations")
    messages = Bundle("messages")
    unfinished = Bundle("unfinished")

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "transcript.db"
        self.transcript = Transcript(self.file)
        self.said: dict[str, Said] = {}
        self.heads: dict[str, dict[str, str | None]] = {}
        self.moved_last: dict[str, str] = {}

    def teardown(self) -> None:
        self.transcript.close()
        self.folder.cleanup()

    # What can be done

    @rule(target=conversations)
    def create(self) -> str:
        conversation = self.transcript.create_conversation("ada")
        self.heads[conversation] = {MAIN: None}
        self.moved_last[conversation] = MAIN
        return conversation

    @rule(target=messages, conversation=conversations, text=TEXTS, branch=BRANCHES)
    def append_first(self, conversation: str, text: str, branch: str) -> str:
        return self._append(conversation, None, text, branch)

    @rule(target=messages, parent=messages, text=TEXTS, branch=BRANCHES)
    def append(self, parent: str, text: str, branch: str) -> str:
        return self._append(self.said[parent].conversation, parent, text, branch)

    @rule(target=unfinished, parent=messages, branch=BRANCHES)
    def begin(self, parent: str, branch: str) -> str:
        conversation = self.said[parent].conversation
        message = self.transcript.begin(
            conversation, parent, speaker="ada", audience=BOTH, made_by={"a": 1, "b": 1}, branch=branch
        )
        self._note(message, Said(conversation, parent, "ada", "", "cut", {"a": 1, "b": 1}), branch)
        return message

    @rule(message=unfinished, text=TEXTS)
    def add_piece(self, message: str, text: str) -> None:
        self.transcript.add_piece(message, text)
        self.said[message].text += text

    @rule(
        target=messages,
        message=consumes(unfinished),
        status=st.sampled_from(["complete", "stopped", "failed"]),
        other_text=st.none() | TEXTS,
    )
    def end(
        self, message: str, status: Literal["complete", "stopped", "failed"], other_text: str | None
    ) -> str:
        said = self.said[message]
        said.text = said.text if other_text is None else other_text
        said.status = status
        said.made_by = {"a": 1, "b": 2, "c": 2}
        ended = self.transcript.end(message, said.text, status, made_by={"b": 2, "c": 2})
        self._check(ended, message)
        return message

    @rule(target=messages, message=consumes(unfinished))
    def leave_unfinished(self, message: str) -> str:
        """Its process died; somebody may still go on from it."""
        return message

    @rule(message=messages, branch=BRANCHES)
    def move_branch(self, message: str, branch: str) -> None:
        conversation = self.said[message].conversation
        self.transcript.move_branch(conversation, message, branch)
        self._move(conversation, branch, message)

    @rule(conversation=conversations, branch=BRANCHES)
    def move_branch_before_the_first(self, conversation: str, branch: str) -> None:
        self.transcript.move_branch(conversation, None, branch)
        self._move(conversation, branch, None)

    @rule()
    def open_again(self) -> None:
        self.transcript.close()
        self.transcript = Transcript(self.file)

    # What is refused

    @rule(conversation=conversations, parent=messages | st.just("0123456789abcdef"))
    def append_under_a_stranger(self, conversation: str, parent: str) -> None:
        if parent in self.said and self.said[parent].conversation == conversation:
            return
        with pytest.raises(MessageError):
            self.transcript.append(conversation, parent, speaker="user", audience=BOTH, text="lost")
        with pytest.raises(MessageError):
            self.transcript.begin(conversation, parent, speaker="ada", audience=BOTH)

    @rule(message=messages)
    def end_twice(self, message: str) -> None:
        if self.said[message].status == "cut":
            return
        with pytest.raises(RoleLLMError):
            self.transcript.end(message, "other words", "complete")

    # What must hold

    @invariant()
    @precondition(lambda self: hasattr(self, "transcript"))
    def everything_is_there(self) -> None:
        for conversation, heads in self.heads.items():
            mine = [id_ for id_, said in self.said.items() if said.conversation == conversation]
            kept = self.transcript.messages(conversation)
            assert [message.id for message in kept] == mine
            for message in kept:
                self._check(message, message.id)
            assert list(self.transcript.branches(conversation).items()) == list(heads.items())
            assert self.transcript.latest_branch(conversation) == self.moved_last[conversation]
            for branch in (MAIN, "branch-2", "a b'c"):
                path = self.transcript.path(conversation, branch)
                assert [message.id for message in path] == self._line_to(heads.get(branch))
        said_in = list(dict.fromkeys(said.conversation for said in reversed(self.said.values())))
        listed = self.transcript.conversations()
        assert [(one.id, one.messages) for one in listed] == [
            (one, sum(said.conversation == one for said in self.said.values())) for one in said_in
        ]

    @rule(message=messages)
    def reload(self, message: str) -> None:
        """Its swipes and what follows it."""
        one = self.said[message]
        around = [
            id_
            for id_, said in self.said.items()
            if (said.conversation, said.parent) == (one.conversation, one.parent)
        ]
        assert [found.id for found in self.transcript.siblings(message)] == around
        below = [id_ for id_, said in self.said.items() if said.parent == message]
        assert [found.id for found in self.transcript.children(message)] == below
        self._check(self.transcript.message(message), message)

    @rule(message=messages | unfinished)
    def search(self, message: str) -> None:
        """Each of its words finds it, whether it has ended or not, and nothing that has not the word."""
        for word in set(keys_of(plain(self.said[message].text))):
            found = [one.message for one in self.transcript.search(word, limit=10_000)]
            assert found == [
                id_ for id_, said in reversed(self.said.items()) if word in keys_of(plain(said.text))
            ]

    # Inside

    def _append(self, conversation: str, parent: str | None, text: str, branch: str) -> str:
        message = self.transcript.append(
            conversation, parent, speaker="user", audience=BOTH, text=text, branch=branch
        )
        self._note(message.id, Said(conversation, parent, "user", text, "complete", {}), branch)
        self._check(message, message.id)
        return message.id

    def _note(self, message: str, said: Said, branch: str) -> None:
        assert message not in self.said
        self.said[message] = said
        self._move(said.conversation, branch, message)

    def _move(self, conversation: str, branch: str, message: str | None) -> None:
        self.heads[conversation][branch] = message
        self.moved_last[conversation] = branch

    def _check(self, message: Message, id_: str) -> None:
        kept = Said(
            message.conversation,
            message.parent,
            message.speaker,
            message.text,
            message.status,
            dict(message.made_by),
        )
        assert (message.id, kept) == (id_, self.said[id_])

    def _line_to(self, message: str | None) -> list[str]:
        line: list[str] = []
        while message is not None:
            line.append(message)
            message = self.said[message].parent
        return line[::-1]


TestTranscript = TranscriptMachine.TestCase
TestTranscript.settings = examples(0.1, stateful_step_count=40)
