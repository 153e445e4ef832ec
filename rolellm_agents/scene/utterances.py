"""Read the message kind of a model's answer and of a typed line.

A model writes a mark before its words: “(whispers to Dr. Watson) He lies.” An answer wholly in asterisks is
an act. Private words never become public by a misreading: a whisper without a known addressee becomes a
thought, and a mark without an end applies to everything after it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rolellm_agents.errors import MessageError
from rolellm_agents.scene.message_kinds import ACT, NARRATE, SAY, THINK, WHISPER, MessageKind
from rolellm_agents.scene.names import HAN, Mention, forms_of, index_names
from rolellm_agents.scene.stage_directions import StageDirectionParser, StageDirections
from rolellm_agents.text import did_you_mean, one_line
from rolellm_agents.transcript.message import Kind


@dataclass(frozen=True)
class Utterance:
    """A text with its message kind."""

    kind: Kind
    to: tuple[str, ...]
    """The addressees, of a whisper and of other kinds that only they perceive."""
    text: str


def parse_utterance(
    text: str, turn_kinds: Sequence[MessageKind], names: Mapping[str, str], own_names: Sequence[str] = ()
) -> Utterance:
    """Parse a model's answer.

    Args:
        text: the answer.
        turn_kinds: the speaker's allowed turn kinds. A mark of another kind stays in the text.
        names: names of those present whom the speaker knows, by seat.
        own_names: names of the speaker; one of them before the words, with a colon, is removed.
    """
    head = StageDirectionParser(turn_kinds, index_names(names), own_names).read(text, complete=True)
    assert head is not None  # noqa: S101  # None only for an incomplete text
    return Utterance(head.kind.name, head.to, head.final_text(head.kept + text[head.end :]))


class UtteranceStream:
    """Parses a streamed answer: gives its words without the mark as soon as the mark is complete.

    The texts that `feed` and `finish` return add up to the text of `parse_utterance`, and the kind is the
    same, however the answer is split. Words are held back while a name may still get its colon (about 80
    characters) or a bracket its end (about 240).
    """

    def __init__(
        self, turn_kinds: Sequence[MessageKind], names: Mapping[str, str], own_names: Sequence[str] = ()
    ) -> None:
        """Start with an empty text; for the arguments see `parse_utterance`."""
        self._parser = StageDirectionParser(turn_kinds, index_names(names), own_names)
        self._head: StageDirections | None = None
        self._held = ""
        self._given: list[str] = []

    @property
    def utterance(self) -> Utterance | None:
        """The kind and the words so far; None while the kind is undecided."""
        return self._head and Utterance(self._head.kind.name, self._head.to, "".join(self._given))

    def feed(self, words: str) -> str:
        """Add a part of the answer and return the words that can be shown now."""
        self._held += words
        self._parse_head(complete=False)
        if self._head is None:
            return ""
        if not self._given:
            self._held = self._held.lstrip()
        # Trailing blanks are held back until words follow.
        shown = self._held.rstrip()
        self._held = self._held[len(shown) :]
        return self._give(shown)

    def finish(self) -> str:
        """End the answer and return the rest of its words."""
        self._parse_head(complete=True)
        assert self._head is not None  # noqa: S101
        rest = "" if self._given else self._head.final_text(self._held)
        self._held = ""
        return self._give(rest)

    def _parse_head(self, *, complete: bool) -> None:
        if self._head is None:
            self._head = self._parser.read(self._held, complete=complete)
            if self._head:
                self._held = self._head.kept + self._held[self._head.end :]

    def _give(self, words: str) -> str:
        if words:
            self._given.append(words)
        return words


_COMMAND = re.compile(rf"/([{HAN}]+|[^\s{HAN}]*)\s*")
_NAME_WIDTH = 40


def parse_typed_line(
    text: str, names: Mapping[str, str], own: Iterable[MessageKind] = (), commands: Iterable[str] = ()
) -> Utterance:
    """Parse a typed line: “/whisper watson come closer”, “/me nods”, “//” for a slash, or plain words.

    A whisper has several addressees when their names are joined (“/w watson,mycroft come”) or end with a
    colon (“/w watson and mycroft: come”). Otherwise a name after a comma may belong to the words. The same
    is true of other kinds that only their addressees perceive.

    Args:
        text: the line as typed.
        names: names of the possible addressees, by seat.
        own: message kinds of the scene, which have commands beside ours.
        commands: other words that may follow a slash, which a message about an unknown one suggests too.

    Raises:
        MessageError: an unknown command, an unknown or ambiguous addressee, or no words.
    """
    typed = text.strip()
    if not typed.startswith("/") or typed.startswith("//"):
        said = typed[1:] if typed.startswith("//") else typed
        if not said:
            raise MessageError("There is nothing to say; write some words.")
        return Utterance(SAY.name, (), said)
    kind, shown, rest = _command(typed, own, commands)
    to: tuple[str, ...] = ()
    if kind.perceived_by == "addressees":
        to, rest = _addressees(rest, names, kind)
        shown = f"{shown} {', '.join(one_line(names[seat], _NAME_WIDTH) for seat in to)}"
    if not rest:
        raise MessageError(f"There is no text after {shown}; write the words after it.")
    return Utterance(kind.name, to, rest)


def _command(typed: str, own: Iterable[MessageKind], others: Iterable[str]) -> tuple[MessageKind, str, str]:
    """The kind, the command as typed and the text after it. A Chinese command needs no blank after it."""
    kinds = typed_kinds(own)
    commands = {command: kind for kind in kinds for command in kind.typed}
    others = [*others]
    found = _COMMAND.match(typed)
    word = found[1].casefold() if found else ""
    for length in range(len(word), 0, -1):
        meant = commands.get(word[:length])
        if meant and (length == len(word) or re.match(f"[{HAN}]", word)):
            return meant, f"/{word[:length]}", typed[1 + length :].strip()
    near = did_you_mean(f"/{word}", [f"/{command}" for command in (*commands, *others)])
    *listed, last = (f"/{kind.typed[0]}" for kind in kinds)
    known = "/help lists all" if others else f"known are {', '.join(listed)} and {last}"
    raise MessageError(
        f"There is no command {one_line('/' + word, _NAME_WIDTH)}{near}; {known}, and words that begin "
        "with a slash are written with two."
    )


def typed_kinds(own: Iterable[MessageKind]) -> list[MessageKind]:
    """The kinds that can be typed: ours, and those of a scene."""
    return [SAY, WHISPER, ACT, THINK, *(kind for kind in own if not kind.is_built_in), NARRATE]


_TOGETHER = re.compile(r"[,，、&+]@?(?=\S)")
_LISTED = re.compile(r"\s*(?:[,，、&+]|\band\b|和|与|及)\s*@?", re.IGNORECASE)
_COLON = re.compile(r"\s*[:：]\s*")
_BEHIND_NAMES = re.compile(r"\s*[:：,，]?\s*")
_TOKEN = re.compile(r"[^\s,，、:：&+]+")
_SHORTEST_PREFIX = 3


def _addressees(rest: str, names: Mapping[str, str], kind: MessageKind) -> tuple[tuple[str, ...], str]:
    """The addressees of a typed line, and its words."""
    if not names:
        raise MessageError(f"Nobody is here to {kind.name} to; think it with /think, or say it.")
    if not rest:
        raise MessageError(f"No addressee is named; put a name before the words: {_all(names)}.")
    first = _mention_at(rest, 1 if rest.startswith("@") else 0, names)
    if len(first.seats) != 1:
        raise MessageError(_not_one_seat(rest, first, names))
    seats, end = _list_from(rest, first, names, _LISTED)
    if not _COLON.match(rest, end):
        seats, end = _list_from(rest, first, names, _TOGETHER)
    behind = _BEHIND_NAMES.match(rest, end)
    return seats, rest[behind.end() if behind else end :]


def _list_from(
    rest: str, first: Mention, names: Mapping[str, str], between: re.Pattern[str]
) -> tuple[tuple[str, ...], int]:
    """The seats of a list of names that begins with `first`, and where it ends."""
    seats, end = first.seats, first.end
    while joined := between.match(rest, end):
        following = _mention_at(rest, joined.end(), names)
        if len(following.seats) != 1:
            break
        seats, end = (*seats, *following.seats), following.end
    return tuple(dict.fromkeys(seats)), end


def _mention_at(rest: str, place: int, names: Mapping[str, str]) -> Mention:
    """The seats that are named at a place: by id, name, part of a name, or prefix of a part."""
    token = _TOKEN.match(rest, place)
    word = token.group().casefold() if token else ""
    end = token.end() if token else place
    named = index_names(names).at(rest, place, typed=True)
    if word in names and not (named and named.end > end):
        return Mention((word,), place, end)
    if named:
        return named
    parts = {
        seat: [*seat.split("-"), *(form.casefold() for form in forms_of(name))]
        for seat, name in names.items()
    }
    exact = tuple(seat for seat in names if word in parts[seat])
    by_prefix = tuple(seat for seat in names if any(part.startswith(word) for part in parts[seat]))
    return Mention(exact or (by_prefix if len(word) >= _SHORTEST_PREFIX else ()), place, end)


def _not_one_seat(rest: str, mention: Mention, names: Mapping[str, str]) -> str:
    word = rest[mention.start : mention.end]
    if mention.seats:
        meant = {seat: names[seat] for seat in mention.seats}
        return f"{one_line(word, _NAME_WIDTH)!r} may be {_all(meant, 'or')}; write the name in full."
    near = did_you_mean(word, [*names, *names.values()])
    return f"Nobody here is called {one_line(word, _NAME_WIDTH)!r}{one_line(near)}; here are {_all(names)}."


def _all(names: Mapping[str, str], word: str = "and") -> str:
    *others, last = [one_line(name, _NAME_WIDTH) for name in names.values()]
    return f"{', '.join(others)} {word} {last}" if others else last
