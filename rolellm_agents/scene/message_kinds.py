"""How something is meant, said, done, whispered or thought: what a model answers, and what a person types.

A model writes it before its words: “(whispers to Dr. Watson) He lies.” What it wholly writes between
asterisks it does. What is meant for few is never said aloud for want of understanding: a whisper that names
nobody we know of becomes a thought, and a mark that does not end makes a whisper of all that follows.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rolellm_agents.errors import MessageError
from rolellm_agents.scene.names import HAN, Mention, forms_of, ready
from rolellm_agents.scene.scene import TurnKind
from rolellm_agents.scene.stage_directions import StageDirectionParser, StageDirections
from rolellm_agents.text import did_you_mean, one_line

Meant = Literal["say", "act", "whisper", "think", "narrate"]


@dataclass(frozen=True)
class Utterance:
    """Something that somebody says, does, whispers or thinks, or that a person tells."""

    kind: Meant
    to: tuple[str, ...]
    """The seats that a whisper is for."""
    text: str


def utterance_of(
    text: str, turn_kinds: Container[TurnKind], names: Mapping[str, str], own_names: Sequence[str] = ()
) -> Utterance:
    """What a model's answer means.

    Args:
        text: the answer.
        turn_kinds: what the speaker may do. A mark for anything else stays in the words, and is said.
        names: of those present whom the speaker knows, by seat.
        own_names: what the speaker is called; such a name before the words, with a colon, is removed.
    """
    head = StageDirectionParser(turn_kinds, ready(names), own_names).read(text, whole=True)
    assert head is not None  # noqa: S101  # only of a part can more be needed
    return Utterance(head.kind, head.to, head.ended(head.kept + text[head.end :]))


class OpeningWords:
    """An answer as it is streamed: its words without the mark, as soon as it is clear which those are.

    However an answer is cut into pieces, what `feed` and `finish` give is, put together, the text of
    `utterance_of`, and so is the kind. Words are held back while a name may still have its colon, for some
    80 characters, or a bracket its end, for some 240.
    """

    def __init__(
        self, turn_kinds: Container[TurnKind], names: Mapping[str, str], own_names: Sequence[str] = ()
    ) -> None:
        """Wait for words; for the arguments see `utterance_of`."""
        self._reader = StageDirectionParser(turn_kinds, ready(names), own_names)
        self._head: StageDirections | None = None
        self._held = ""
        self._given: list[str] = []

    @property
    def utterance(self) -> Utterance | None:
        """How it is meant, and the words so far; None while that is undecided."""
        return self._head and Utterance(self._head.kind, self._head.to, "".join(self._given))

    def feed(self, words: str) -> str:
        """Take more of the answer, and give what can be shown now."""
        self._held += words
        self._decide(whole=False)
        if self._head is None:
            return ""
        if not self._given:
            self._held = self._held.lstrip()
        # Blanks at the end are held back until something follows them.
        shown = self._held.rstrip()
        self._held = self._held[len(shown) :]
        return self._give(shown)

    def finish(self) -> str:
        """Give the rest; nothing can be fed after it."""
        self._decide(whole=True)
        assert self._head is not None  # noqa: S101
        rest = "" if self._given else self._head.ended(self._held)
        self._held = ""
        return self._give(rest)

    def _decide(self, *, whole: bool) -> None:
        if self._head is None:
            self._head = self._reader.read(self._held, whole=whole)
            if self._head:
                self._held = self._head.kept + self._held[self._head.end :]

    def _give(self, words: str) -> str:
        if words:
            self._given.append(words)
        return words


_COMMANDS: dict[str, Meant] = {
    **dict.fromkeys(("say", "s", "说"), "say"),
    **dict.fromkeys(
        ("whisper", "w", "tell", "msg", "耳语", "悄悄", "悄悄话", "低声", "密语", "私语"), "whisper"
    ),
    **dict.fromkeys(("act", "me", "do", "动作", "做"), "act"),
    **dict.fromkeys(("think", "t", "心想", "想"), "think"),
    **dict.fromkeys(("narrate", "n", "旁白", "叙述"), "narrate"),
}
_COMMAND = re.compile(rf"/([{HAN}]+|[^\s{HAN}]*)\s*")
_TOLD_WIDTH = 40


def line_typed(text: str, names: Mapping[str, str]) -> Utterance:
    """What a person types: “/whisper watson come closer”, “/me nods”, “//” for a slash, or plain words.

    Several hear a whisper when their names stand together (“/w watson,mycroft come”) or before a colon
    (“/w watson and mycroft: come”); else a name behind a comma may belong to the words.

    Args:
        text: as typed.
        names: of those who can be whispered to, by seat.

    Raises:
        MessageError: there is no such command, nobody or more than one of that name, or there are no words.
    """
    typed = text.strip()
    if not typed.startswith("/") or typed.startswith("//"):
        said = typed[1:] if typed.startswith("//") else typed
        if not said:
            raise MessageError("There is nothing to say; write some words.")
        return Utterance("say", (), said)
    kind, shown, rest = _command(typed)
    to: tuple[str, ...] = ()
    if kind == "whisper":
        to, rest = _whom(rest, names)
        shown = f"{shown} {', '.join(one_line(names[seat], _TOLD_WIDTH) for seat in to)}"
    if not rest:
        raise MessageError(f"There is nothing after {shown}; write the words behind it.")
    return Utterance(kind, to, rest)


def _command(typed: str) -> tuple[Meant, str, str]:
    """The kind, the command as typed and what follows it. A Chinese one needs no blank behind it."""
    found = _COMMAND.match(typed)
    word = found[1].casefold() if found else ""
    for length in range(len(word), 0, -1):
        meant = _COMMANDS.get(word[:length])
        if meant and (length == len(word) or re.match(f"[{HAN}]", word)):
            return meant, f"/{word[:length]}", typed[1 + length :].strip()
    near = did_you_mean(f"/{word}", [f"/{command}" for command in _COMMANDS])
    raise MessageError(
        f"There is no command {one_line('/' + word, _TOLD_WIDTH)}{near}; known are /say, /whisper, /act, "
        "/think and /narrate, and words that begin with a slash are written with two."
    )


_TOGETHER = re.compile(r"[,，、&+]@?(?=\S)")
_LISTED = re.compile(r"\s*(?:[,，、&+]|\band\b|和|与|及)\s*@?", re.IGNORECASE)
_COLON = re.compile(r"\s*[:：]\s*")
_BEHIND_NAMES = re.compile(r"\s*[:：,，]?\s*")
_TOKEN = re.compile(r"[^\s,，、:：&+]+")
_SHORTEST_BEGINNING = 3


def _whom(rest: str, names: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Those whom a typed whisper is for, and the words."""
    if not names:
        raise MessageError("Nobody is here to whisper to; think it with /think, or say it.")
    if not rest:
        raise MessageError(f"Nobody is named; name whom you whisper to before the words: {_all(names)}.")
    first = _called(rest, 1 if rest.startswith("@") else 0, names)
    if len(first.seats) != 1:
        raise MessageError(_nobody_sure(rest, first, names))
    seats, end = _list_from(rest, first, names, _LISTED)
    if not _COLON.match(rest, end):
        seats, end = _list_from(rest, first, names, _TOGETHER)
    behind = _BEHIND_NAMES.match(rest, end)
    return seats, rest[behind.end() if behind else end :]


def _list_from(
    rest: str, first: Mention, names: Mapping[str, str], between: re.Pattern[str]
) -> tuple[tuple[str, ...], int]:
    """Those who are named from `first` on, and where their list ends."""
    seats, end = first.seats, first.end
    while joined := between.match(rest, end):
        following = _called(rest, joined.end(), names)
        if len(following.seats) != 1:
            break
        seats, end = (*seats, *following.seats), following.end
    return tuple(dict.fromkeys(seats)), end


def _called(rest: str, place: int, names: Mapping[str, str]) -> Mention:
    """Who is called here: by id, by name, by a part of it, or by how a part begins."""
    token = _TOKEN.match(rest, place)
    word = token.group().casefold() if token else ""
    end = token.end() if token else place
    named = ready(names).at(rest, place, typed=True)
    if word in names and not (named and named.end > end):
        return Mention((word,), place, end)
    if named:
        return named
    parts = {seat: [*seat.split("-"), *_parts(name)] for seat, name in names.items()}
    exact = tuple(seat for seat in names if word in parts[seat])
    begun = tuple(seat for seat in names if any(part.startswith(word) for part in parts[seat]))
    return Mention(exact or (begun if len(word) >= _SHORTEST_BEGINNING else ()), place, end)


def _parts(name: str) -> list[str]:
    return [form.casefold() for form in forms_of(name)]


def _nobody_sure(rest: str, called: Mention, names: Mapping[str, str]) -> str:
    word = rest[called.start : called.end]
    if called.seats:
        meant = {seat: names[seat] for seat in called.seats}
        return f"{one_line(word, _TOLD_WIDTH)!r} may be {_all(meant, 'or')}; write the name in full."
    near = did_you_mean(word, [*names, *names.values()])
    return f"Nobody here is called {one_line(word, _TOLD_WIDTH)!r}{one_line(near)}; here are {_all(names)}."


def _all(names: Mapping[str, str], word: str = "and") -> str:
    *others, last = [one_line(name, _TOLD_WIDTH) for name in names.values()]
    return f"{', '.join(others)} {word} {last}" if others else last
