"""Write a scene as a play's script: Markdown that is readable as plain text."""

import re
from collections.abc import Sequence

from rolellm_agents.scene.events import join_event, leave_event
from rolellm_agents.scene.export.parts import STRESSED, UNSTRESSED, clean, parts_of, without_marks
from rolellm_agents.scene.export.people import cast_of, inside, is_persons, listeners_of, name_of
from rolellm_agents.scene.export.signs import unwrapped
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.message_kinds import ACT, SAY, THINK, WHISPER, kind_of
from rolellm_agents.scene.scene import NARRATOR, Seat
from rolellm_agents.text import one_line
from rolellm_agents.text.language import Language

_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "cast": "Characters",
        "person": ", played by a person",
        "later": ", who comes later",
        "whisper": " *(whispering to {to})*",
        "mutter": " *(in a voice that nobody hears)*",
        "think": " *(aside)*",
        "own": " *({label})*",
        "nobody": "nobody",
        "join": "Enter {name}.",
        "leave": "Exit {name}.",
        "direction": "*({text})*",
        "speech": "**{name}**{how}: {text}",
        "between": ", ",
        "last": " and ",
        "blank": " ",
        "stop": ".",
    },
    "zh": {
        "cast": "人物",
        "person": "（由真人扮演）",
        "later": "（后上）",
        "whisper": "（对{to}低声）",
        "mutter": "（低声，无人听见）",
        "think": "（心想）",
        "own": "（{label}）",
        "nobody": "无人",
        "join": "{name}上。",
        "leave": "{name}下。",
        "direction": "（{text}）",
        "speech": "**{name}**{how}：{text}",
        "between": "、",
        "last": "和",
        "blank": "",
        "stop": "。",
    },
}
_SPECIAL = re.compile(r"[\\`*<]")
_ENDED = re.compile(r"""[.!?…。！？—][”’"'」』)）]*\Z""")


def write_script(loaded: LoadedScene, lines: Sequence[SceneLine]) -> str:
    """Write a play's script: title, place, characters and lines.

    Whispers name their addressees, thoughts are asides. The characters are those that occur in the lines.

    The lines are all lines, or those that one seat witnessed (`as_seen_by`).
    """
    scene, words = loaded.scene, _WORDS[loaded.scene.language]
    place = [f"*{_escaped(one_line(told))}*" for told in (scene.setting, scene.time) if told.strip()]
    cast = [f"- {_cast_entry(loaded, seat, lines)}" for seat in cast_of(loaded, lines)]
    head = [f"# {_escaped(one_line(scene.title))}", *place]
    if cast:
        head += [f"## {words['cast']}", "\n".join(cast)]
    body = [_script_line(loaded, line) for line in lines if clean(line["text"])]
    return "\n\n".join([*head, "---", *body]) + "\n"


def _cast_entry(loaded: LoadedScene, seat: Seat, lines: Sequence[SceneLine]) -> str:
    words = _WORDS[loaded.scene.language]
    comes = any(line["kind"] == "join" and line["speaker"] == seat.id for line in lines)
    person = words["person"] if is_persons(seat, lines) else ""
    return f"{_caps(loaded, seat.id)}{words['later'] if comes and not seat.present else ''}{person}"


def _script_line(loaded: LoadedScene, line: SceneLine) -> str:
    words = _WORDS[loaded.scene.language]
    if line["kind"] in ("join", "leave"):
        return _direction(loaded, _entrance_or_exit(loaded, line))
    if line["kind"] == "narrate" or line["speaker"] == NARRATOR:
        return _direction(loaded, _sentence(clean(line["text"]).replace("\n", " "), loaded))
    how = _how(loaded, line)
    return words["speech"].format(name=_caps(loaded, line["speaker"]), how=how, text=_spoken(loaded, line))


def _how(loaded: LoadedScene, line: SceneLine) -> str:
    """The note behind the speaker's name."""
    words, kind = _WORDS[loaded.scene.language], kind_of(line["kind"], loaded.scene.turn_kinds)
    to = [inside(name) for name in listeners_of(loaded, line)]
    if kind in (SAY, ACT):
        return ""
    if kind == THINK:
        return words["think"]
    if kind == WHISPER:
        return words["whisper"].format(to=_escaped(_listed(to, loaded))) if to else words["mutter"]
    label = kind.labelled(_listed(to, loaded) if to else words["nobody"], loaded.scene.language)
    return words["own"].format(label=_escaped(one_line(label)))


def _spoken(loaded: LoadedScene, line: SceneLine) -> str:
    if line["kind"] == "act":
        return _direction(loaded, without_marks(line["text"]).replace("\n", " "))
    parts = [
        _direction(loaded, part.text)
        if part.kind == "done"
        else _escaped(unwrapped(part.text)).replace(STRESSED, "*").replace(UNSTRESSED, "*")
        for part in parts_of(line["text"])
    ]
    # Indented, so that a line break in a speech cannot look like another speaker's line.
    return _WORDS[loaded.scene.language]["blank"].join(parts).replace("\n", "  \n    ")


def _direction(loaded: LoadedScene, text: str) -> str:
    return _WORDS[loaded.scene.language]["direction"].format(text=_escaped(text))


def _entrance_or_exit(loaded: LoadedScene, line: SceneLine) -> str:
    """The line's own text; “Enter NAME.” or “Exit NAME.” where it has the default text."""
    event = join_event if line["kind"] == "join" else leave_event
    default = event(loaded, line["speaker"]).text if line["speaker"] in loaded.seats else ""
    if line["text"].strip() != default:
        return _sentence(clean(line["text"]).replace("\n", " "), loaded)
    return _WORDS[loaded.scene.language][line["kind"]].format(name=name_of(loaded, line["speaker"]))


def _sentence(text: str, loaded: LoadedScene) -> str:
    return text if _ENDED.search(text) else text + _WORDS[loaded.scene.language]["stop"]


def _caps(loaded: LoadedScene, seat: str) -> str:
    return _escaped(name_of(loaded, seat)).upper()


def _listed(names: Sequence[str], loaded: LoadedScene) -> str:
    words = _WORDS[loaded.scene.language]
    *others, last = names
    return words["between"].join(others) + words["last"] + last if others else last


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
