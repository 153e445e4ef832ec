"""The commands of a scene, in the app and in plain mode, and the lines that are typed into it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from rolellm_agents.errors import MessageError
from rolellm_agents.scene.message_kinds import MessageKind
from rolellm_agents.scene.names import index_names
from rolellm_agents.scene.utterances import Utterance, parse_typed_line, typed_kinds
from rolellm_agents.text import did_you_mean, one_line
from rolellm_tui.slash.arguments import (
    CommandForm,
    read_direction_or_number,
    read_nothing,
    read_text,
)
from rolellm_tui.slash.commands import FORMS
from rolellm_tui.slash.completion import Offered, offered_form

SceneCommandName = Literal[
    "step",
    "play",
    "next",
    "skip",
    "again",
    "as",
    "release",
    "in",
    "out",
    "who",
    "see",
    "director",
    "history",
    "swipe",
    "undo",
    "redo",
    "branch",
    "branches",
    "why",
    "export",
    "new",
    "help",
    "quit",
]
_TYPED = re.compile(r"/(\S+)\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class SceneCommand:
    """A command with its arguments."""

    name: SceneCommandName
    seat: str | None = None
    """The seat that is named first."""
    text: str = ""
    number: int = 0
    """From 1; 0 if none was given."""


@dataclass(frozen=True, kw_only=True)
class SceneCommandForm(CommandForm):
    """Syntax of a command of scenes."""

    seat: Literal["", "named", "perhaps named"] = ""
    """Whether the name of a seat comes first; `read` parses what follows it."""
    also: tuple[str, ...] = ()
    """Other words for the command."""


SCENE_FORMS: dict[SceneCommandName, CommandForm] = {
    "step": SceneCommandForm(
        arguments="", meaning="play one turn, like Enter alone.", read=read_nothing, also=("一步",)
    ),
    "play": SceneCommandForm(
        arguments="",
        meaning="play turn after turn; the same command pauses in the app, Ctrl-C in plain mode.",
        read=read_nothing,
        also=("pause", "继续", "暂停"),
    ),
    "next": SceneCommandForm(
        arguments="NAME",
        meaning="let this one speak next.",
        read=read_nothing,
        choices="seats",
        seat="named",
        also=("下一个",),
    ),
    "skip": SceneCommandForm(
        arguments="", meaning="let another speak in your turn.", read=read_nothing, also=("pass", "跳过")
    ),
    "again": SceneCommandForm(
        arguments="", meaning="play the last turn of a model again.", read=read_nothing, also=("重来",)
    ),
    "as": SceneCommandForm(
        arguments="NAME",
        meaning="write as this one, or as the narrator; you then play this seat.",
        read=read_nothing,
        choices="seats and narrator",
        seat="named",
        also=("扮",),
    ),
    "release": SceneCommandForm(
        arguments="NAME",
        meaning="let a model play this seat again.",
        read=read_nothing,
        choices="seats and narrator",
        seat="named",
    ),
    "in": SceneCommandForm(
        arguments="NAME [TEXT]",
        meaning="let this one come in; the text describes it.",
        read=read_text,
        choices="seats",
        text_follows=True,
        seat="named",
        also=("进",),
    ),
    "out": SceneCommandForm(
        arguments="NAME [TEXT]",
        meaning="let this one leave; the text describes it.",
        read=read_text,
        choices="seats",
        text_follows=True,
        seat="named",
        also=("出",),
    ),
    "who": SceneCommandForm(
        arguments="",
        meaning="tell who is there, who plays whom, and how much each of them knows.",
        read=read_nothing,
    ),
    "see": SceneCommandForm(
        arguments="[NAME]",
        meaning="show only what this one has witnessed; without a name, show all lines.",
        read=read_nothing,
        choices="seats",
        seat="perhaps named",
    ),
    "director": SceneCommandForm(
        arguments="[KIND]",
        meaning="tell who decides the next speaker, or choose another director for now.",
        read=read_text,
        choices="directors",
    ),
    "history": SceneCommandForm(
        arguments="", meaning="go to the first line; plain mode prints all with numbers.", read=read_nothing
    ),
    "swipe": CommandForm(
        "left, right or N",
        "go to the previous or next version of the last model's line, or to version N.",
        read_direction_or_number,
        "directions",
    ),
    "undo": FORMS["undo"],
    "redo": FORMS["redo"],
    "branch": FORMS["branch"],
    "branches": FORMS["branches"],
    "why": FORMS["why"],
    "export": FORMS["export"],
    "new": SceneCommandForm(
        arguments="", meaning="begin the scene anew; what was played is kept.", read=read_nothing
    ),
    "help": FORMS["help"],
    "quit": FORMS["quit"],
}
_WORDS: dict[str, SceneCommandName] = {
    word: name
    for name, form in SCENE_FORMS.items()
    for word in (name, *(form.also if isinstance(form, SceneCommandForm) else ()))
}


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
        MessageError: the command or name is unknown, or the arguments are invalid.
    """
    match = _TYPED.fullmatch(text.strip())
    name = _WORDS.get(match[1].casefold()) if match else None
    if match is None or name is None:
        return parse_typed_line(text, addressees, own, _WORDS)
    form, seat, rest = SCENE_FORMS[name], None, match[2]
    named = form.seat if isinstance(form, SceneCommandForm) else ""
    if named == "named" or (named and rest):
        seat, rest = _split_name(match[1], rest, names)
    try:
        return SceneCommand(name, seat, *form.read(rest))
    except ValueError:
        raise MessageError(f"Usage: /{name} {form.arguments}".rstrip() + ". See /help.") from None


def offered_in_scene(own: Iterable[MessageKind]) -> list[Offered]:
    """The commands as completion offers them, and the kinds of lines.

    Args:
        own: message kinds of the scene.
    """
    kinds = [_offered_kind(kind) for kind in typed_kinds(own)]
    return [*kinds, *(offered_form(name, form) for name, form in SCENE_FORMS.items())]


def scene_help_lines(own: Iterable[MessageKind]) -> list[str]:
    """One line for each command and each kind of lines.

    Args:
        own: message kinds of the scene.
    """
    return [f"/{one.name} {one.arguments}".rstrip() + f": {one.meaning}" for one in offered_in_scene(own)]


def _offered_kind(kind: MessageKind) -> Offered:
    is_addressed = kind.perceived_by == "addressees"
    heard = {
        "everyone": "all who are there perceive it.",
        "addressees": "only this one perceives it.",
        "speaker": "nobody else perceives it.",
    }[kind.perceived_by]
    return Offered(
        kind.typed[0],
        "NAME TEXT" if is_addressed else "TEXT",
        f"write a line of the kind “{kind.name}”; {heard}",
        "seats" if is_addressed else None,
        text_follows=is_addressed,
    )


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
    return mention.seats[0], rest[mention.end :].lstrip(" ,，:：").rstrip()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(one_line(name, 40) for name in names)
