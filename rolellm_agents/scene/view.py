"""What one seat of a scene is told: the scene as it concerns them, and what they have witnessed.

Nothing else of a scene reaches a character's prompt, so this module never sees more than `witnessed` gives
it and the seat's own data.
"""

from collections.abc import Sequence
from itertools import groupby

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.scene.line import SceneLine, Summary, is_turn
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.scene import NARRATOR
from rolellm_agents.scene.witness import present_in, witnessed
from rolellm_agents.text.language import Language
from rolellm_agents.transcript.message import Kind

_FORMS: dict[Language, dict[Kind, str]] = {
    "en": {
        "say": "{name}: {text}",
        "whisper": "{name} (whispering to you): {text}",
        "act": "*{name}: {text}*",
        "think": "{name} (thinking): {text}",
        "narrate": "[{text}]",
        "join": "[{text}]",
        "leave": "[{text}]",
    },
    "zh": {
        "say": "{name}：{text}",
        "whisper": "{name}（对你低声说）：{text}",
        "act": "*{name}：{text}*",
        "think": "{name}（心想）：{text}",
        "narrate": "【{text}】",
        "join": "【{text}】",
        "leave": "【{text}】",
    },
}
_OWN: dict[Language, dict[Kind, str]] = {
    "en": {"whisper": "(whispers to {to}) {text}", "act": "*{text}*", "think": "(thinks) {text}"},
    "zh": {"whisper": "（对{to}低声说）{text}", "act": "*{text}*", "think": "（心想）{text}"},
}
_BEGINS: dict[Language, str] = {"en": "[The scene begins.]", "zh": "【开始了。】"}
_GOES_ON: dict[Language, str] = {"en": "[Nobody answers.]", "zh": "【没有人回答。】"}
_REMEMBERED: dict[Language, str] = {"en": "[What you remember: {text}]", "zh": "【你记得的事：{text}】"}
_BETWEEN: dict[Language, str] = {"en": ", ", "zh": "、"}
_SENTENCES: dict[Language, str] = {"en": " ", "zh": ""}
_NOBODY: dict[Language, str] = {"en": "nobody else", "zh": "没有别人"}


def instruction_for(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine]) -> str:
    """What stands in a seat's instruction about the scene; the same for as long as they stay.

    Args:
        loaded: the scene.
        seat: whose.
        lines: all that happened; only who was there when the seat came in is taken from it.
    """
    scene, own = loaded.scene, loaded.seats[seat]
    language = scene.language
    name = own.name
    there = [loaded.names[one] for one in _met_on_entering(loaded, seat, lines)]
    about = own.about.strip() if own.persona else ""  # else it is the persona's description already
    private = [
        *([_told("scene-about", language, name=name, text=about)] if about else []),
        *(
            _told(f"scene-{what}", language, name=name, text=_SENTENCES[language].join(texts))
            for what, texts in (("goals", own.goals), ("knows", own.knows), ("secrets", own.secrets))
            if texts
        ),
        *(
            _told("scene-relation", language, name=name, other=loaded.names.get(other, other), text=text)
            for other, text in own.relations.items()
        ),
    ]
    turn_kinds = _SENTENCES[language].join(
        load_prompt(f"scene-{turn_kind}", language).text
        for turn_kind in ("whisper", "think")
        if turn_kind in scene.turn_kinds
    )
    told = load_prompt("scene", language).fill(
        name=name,
        setting=scene.setting,
        time=scene.time,
        present=_BETWEEN[language].join(there) or _NOBODY[language],
        private="\n".join(private),
        manners=_SENTENCES[language] + turn_kinds if turn_kinds else "",
    )
    return "\n".join(line.rstrip() for line in told.splitlines() if line.strip())


def history_for(
    loaded: LoadedScene, seat: str, lines: Sequence[SceneLine], summary: Summary | None = None
) -> list[AnyMessage]:
    """What a seat has witnessed, as the turns of a chat that ends with what they are to answer.

    Their own lines are the model's turns; all that others did in between is one turn of the user's. A turn
    never changes when more happens, so what a model has read of it stays good.

    Args:
        loaded: the scene.
        seat: whose.
        lines: all that happened.
        summary: what they remember of the first of these, in place of them.
    """
    language = loaded.scene.language
    seen = witnessed(lines, seat)
    turns: list[AnyMessage] = []
    pending: list[str] = []
    if summary is not None:
        pending.append(_REMEMBERED[language].format(text=summary["text"]))
        seen = seen[summary["lines"] :]
    for is_own, group in groupby(seen, key=lambda line: line["speaker"] == seat and is_turn(line)):
        if not is_own:
            pending += [told_line(loaded, line, seat) for line in group]
            continue
        for line in group:
            opened = _GOES_ON[language] if turns else _BEGINS[language]
            turns.append(HumanMessage("\n".join(pending) or opened))
            turns.append(AIMessage(own_line(loaded, line)))
            pending = []
    opened = _GOES_ON[language] if turns else _BEGINS[language]
    return [*turns, HumanMessage("\n".join(pending) or opened)]


def told_line(loaded: LoadedScene, line: SceneLine, seat: str | None = None) -> str:
    """A line as somebody else reads it.

    Args:
        loaded: the scene.
        line: what happened.
        seat: who reads it; a seat's own coming and going is told like everybody's.
    """
    if line["kind"] == "whisper" and seat is None:
        # To somebody who stands outside, “to you” would be wrong.
        own = own_line(loaded, line)
        return _FORMS[loaded.scene.language]["say"].format(name=_name(loaded, line), text=own)
    return _FORMS[loaded.scene.language][line["kind"]].format(name=_name(loaded, line), text=line["text"])


def own_line(loaded: LoadedScene, line: SceneLine) -> str:
    """A line as its speaker would write it."""
    language = loaded.scene.language
    form = _OWN[language].get(line["kind"], "{text}")
    to = [loaded.names[one] for one in line["audience"] if one != line["speaker"] and one in loaded.names]
    return form.format(text=line["text"], to=_BETWEEN[language].join(to))


def known_names(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine]) -> dict[str, str]:
    """The names of those whom a seat has met in the scene, by their seats, their own not among them."""
    met = set(_met_on_entering(loaded, seat, lines))
    met |= {line["speaker"] for line in witnessed(lines, seat) if line["speaker"] != NARRATOR}
    met.discard(seat)
    return {one: name for one, name in loaded.names.items() if one in met}


def _met_on_entering(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine]) -> list[str]:
    """Who was there when the seat first was, themselves left out."""
    before: Sequence[SceneLine] = ()
    if not loaded.seats[seat].present:
        joins = (line["kind"] == "join" and line["speaker"] == seat for line in lines)
        before = lines[: next((place for place, joined in enumerate(joins) if joined), len(lines))]
    return [one for one in present_in(loaded.scene, before) if one != seat]


def _name(loaded: LoadedScene, line: SceneLine) -> str:
    return loaded.names.get(line["speaker"], line["speaker"])


def _told(prompt: str, language: Language, **fields: str) -> str:
    return load_prompt(prompt, language).fill(**fields)
