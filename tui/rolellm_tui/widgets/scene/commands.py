"""Parsing of input in a scene: lines and commands."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from rolellm_agents.errors import MessageError
from rolellm_agents.scene.message_kinds import MessageKind
from rolellm_agents.scene.names import index_names
from rolellm_agents.scene.utterances import Utterance, parse_typed_line
from rolellm_agents.text import did_you_mean, one_line

Command = Literal["skip", "next", "as", "in", "out", "play", "step", "again"]

_COMMANDS: dict[str, Command] = {
    **dict.fromkeys(("skip", "pass", "跳过"), "skip"),
    **dict.fromkeys(("next", "下一个"), "next"),
    **dict.fromkeys(("as", "扮"), "as"),
    **dict.fromkeys(("in", "进"), "in"),
    **dict.fromkeys(("out", "出"), "out"),
    **dict.fromkeys(("play", "pause", "继续", "暂停"), "play"),
    **dict.fromkeys(("step", "一步"), "step"),
    **dict.fromkeys(("again", "重来"), "again"),
}
_OF_SOMEBODY = frozenset({"next", "as", "in", "out"})
_TYPED = re.compile(r"/(\S+)\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class SceneCommand:
    """Name of the command."""

    command: Command
    seat: str | None = None
    """Its seat."""
    text: str = ""
    """Its text."""


def typed_in_scene(
    text: str, names: Mapping[str, str], addressees: Mapping[str, str], own: Iterable[MessageKind] = ()
) -> SceneCommand | Utterance:
    """Parse the input of the user.

    Args:
        text: the input.
        names: the names of the seats that commands accept, by seat.
        addressees: the names of the possible addressees of a whisper, by seat.
        own: message kinds of the scene.

    Raises:
        MessageError: the command or name is unknown, or the text is missing.
    """
    match = _TYPED.fullmatch(text.strip())
    command = _COMMANDS.get(match[1].casefold()) if match else None
    if match is None or command is None:
        return parse_typed_line(text, addressees, own)
    if command not in _OF_SOMEBODY:
        return SceneCommand(command)
    seat, rest = _split_name(match[1], match[2], names)
    return SceneCommand(command, seat, rest)


def _split_name(command: str, rest: str, names: Mapping[str, str]) -> tuple[str, str]:
    """Split the name from the text."""
    first_word = rest.split(maxsplit=1)[0] if rest else ""
    mention = index_names(names).at(rest, 0, typed=True)
    if first_word in names and (mention is None or mention.end < len(first_word)):
        return first_word, rest[len(first_word) :].strip()
    if mention is None:
        suggestion = (
            did_you_mean(first_word, [*names, *map(one_line, names.values())]) if first_word else ""
        )
        problem = (
            f"No one is named {one_line(first_word, 40)!r}{suggestion}"
            if first_word
            else f"/{command} needs a name"
        )
        raise MessageError(f"{problem}; known are {_listed(names.values())}.")
    if len(mention.seats) > 1:
        raise MessageError(
            f"Ambiguous name: {_listed(names[seat] for seat in mention.seats)}; write the name in full."
        )
    return mention.seats[0], rest[mention.end :].lstrip(" ,，:：")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(one_line(name, 40) for name in names)
