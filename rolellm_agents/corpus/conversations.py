"""Conversations of a persona, and the Markdown form of their files."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rolellm_agents.corpus.plan import TOPICS, TURNS
from rolellm_agents.errors import CorpusError
from rolellm_agents.persona import Demonstration
from rolellm_agents.text import did_you_mean

_HEADINGS = ("conversation", "single")


@dataclass(frozen=True)
class CorpusConversation:
    """A conversation of two or more exchanges, or a single exchange."""

    topics: tuple[str, ...]
    exchanges: tuple[Demonstration, ...]
    line: int
    """Line of the first user message, from 1."""


@dataclass(frozen=True)
class PersonaCorpus:
    """All conversations of one persona."""

    persona: str
    """The persona's id."""
    conversations: tuple[CorpusConversation, ...]

    @property
    def exchanges(self) -> Iterator[tuple[CorpusConversation, Demonstration]]:
        """Every exchange, with the conversation that it is part of."""
        for conversation in self.conversations:
            for exchange in conversation.exchanges:
                yield conversation, exchange


def read_persona_corpus(file: Path) -> PersonaCorpus:
    """Read the conversations of one persona.

    Raises:
        CorpusError: the file cannot be read or has another form; the message names file and line.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise CorpusError(f"{file} cannot be read: {error}.") from error
    return parse_persona_corpus(text, name=file.name)


def parse_persona_corpus(text: str, *, name: str = "the text") -> PersonaCorpus:
    """Parse the Markdown form of `personas/rolellm_corpus/README.md`.

    Args:
        text: of one persona.
        name: named in errors.

    Raises:
        CorpusError: the text has another form; the message names the line.
    """
    reader = _Reader(name)
    for number, line in enumerate(text.splitlines(), 1):
        reader.read(number, line.rstrip())
    return reader.end()


@dataclass
class _Reader:
    name: str
    persona: str = ""
    conversations: list[CorpusConversation] = field(default_factory=list)
    _single: bool = False
    _topics: tuple[str, ...] = ()
    _heading: int = 0
    _line: int = 0
    _exchanges: list[Demonstration] = field(default_factory=list)
    _user: list[str] = field(default_factory=list)
    _reply: list[str] = field(default_factory=list)
    _number: int = 0

    def read(self, number: int, line: str) -> None:
        self._number = number
        if line.startswith("## "):
            self._close()
            self._open(line)
        elif line.startswith("# "):
            self._start(line)
        elif not line:
            self._end_exchange()
        elif not self._topics:
            self._fail("stands before the first “## conversation: TOPICS” or “## single: TOPIC”")
        elif line.startswith(">"):
            self._read_user(line)
        elif not self._user:
            self._fail("is a reply without a line of the user, which begins with “> ”")
        else:
            self._reply.append(line.strip())

    def end(self) -> PersonaCorpus:
        self._close()
        if not self.persona:
            raise CorpusError(f"{self.name} does not begin with “# PERSONA-ID”.")
        return PersonaCorpus(self.persona, tuple(self.conversations))

    def _start(self, line: str) -> None:
        if self.persona:
            self._fail("names a second persona; one file holds one persona")
        self.persona = line.removeprefix("# ").strip()

    def _open(self, line: str) -> None:
        kind, _, listed = line.removeprefix("## ").partition(":")
        if kind.strip() not in _HEADINGS:
            self._fail("is neither “## conversation: TOPICS” nor “## single: TOPIC”")
        self._single = kind.strip() == "single"
        self._topics = tuple(topic.strip() for topic in listed.split(","))
        for topic in self._topics:
            if topic not in TOPICS:
                self._fail(f"names the unknown topic {topic!r}{did_you_mean(topic, TOPICS)}")
        self._heading = self._number

    def _read_user(self, line: str) -> None:
        if self._reply:
            self._end_exchange()
        if not self._user and (self._single or not self._exchanges):
            self._line = self._number
        self._user.append(line.removeprefix(">").strip())

    def _end_exchange(self) -> None:
        if not self._user:
            return
        if not self._reply:
            self._fail("ends a line of the user that has no reply")
        self._exchanges.append(Demonstration(user="\n".join(self._user), reply="\n".join(self._reply)))
        self._user, self._reply = [], []
        if self._single:
            self._add()

    def _close(self) -> None:
        self._end_exchange()
        if self._exchanges:
            least, most = TURNS
            if not least <= len(self._exchanges) <= most:
                raise CorpusError(
                    f"{self.name}, line {self._heading}: the conversation has {len(self._exchanges)} "
                    f"exchanges; {least} to {most} are possible, and one alone is “## single: TOPIC”."
                )
            self._add()

    def _add(self) -> None:
        self.conversations.append(CorpusConversation(self._topics, tuple(self._exchanges), self._line))
        self._exchanges = []

    def _fail(self, what: str) -> None:
        raise CorpusError(f"{self.name}, line {self._number} {what}.")
