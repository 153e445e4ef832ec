"""A seat's view of a scene: the instruction about the scene, and the witnessed lines as messages.

Nothing else of a scene reaches a character's prompt. This module uses only the result of `witnessed` and
the seat's own data.
"""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.scene.line import SceneLine, Summary, is_turn
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.message_kinds import SAY, TURN_KINDS, MessageKind, in_language, kind_of
from rolellm_agents.scene.scene import NARRATOR
from rolellm_agents.scene.witness import present_in, witnessed
from rolellm_agents.text.language import Language

_BEGINS: dict[Language, str] = {"en": "[The scene begins.]", "zh": "【开始了。】"}
GOES_ON: dict[Language, str] = {"en": "[Nobody answers.]", "zh": "【没有人回答。】"}
"""What a seat hears after its own turn if nobody has said anything since."""
_REMEMBERED: dict[Language, str] = {"en": "[What you remember: {text}]", "zh": "【你记得的事：{text}】"}
_BETWEEN: dict[Language, str] = {"en": ", ", "zh": "、"}
_SENTENCES: dict[Language, str] = {"en": " ", "zh": ""}
_NOBODY: dict[Language, str] = {"en": "nobody else", "zh": "没有别人"}


def instruction_for(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine]) -> str:
    """The part of a seat's instruction about the scene; it does not change while the seat is present.

    The lines decide only who was present when the seat entered.
    """
    scene, own = loaded.scene, loaded.seats[seat]
    language = scene.language
    name = own.name
    present = [loaded.names[other] for other in _met_on_entering(loaded, seat, lines)]
    about = own.about.strip() if own.persona else ""  # else it is the persona's description already
    private = [
        *([_filled("scene-about", language, name=name, text=about)] if about else []),
        *(
            _filled(f"scene-{what}", language, name=name, text=_SENTENCES[language].join(texts))
            for what, texts in (("knows", own.knows), ("secrets", own.secrets))
            if texts
        ),
        *(
            _filled("scene-relation", language, name=name, other=loaded.names.get(other, other), text=text)
            for other, text in own.relations.items()
        ),
    ]
    turn_kinds = _SENTENCES[language].join(_kind_instructions(scene.turn_kinds, language))
    instruction = load_prompt("scene", language).fill(
        name=name,
        setting=scene.setting,
        time=scene.time,
        present=_BETWEEN[language].join(present) or _NOBODY[language],
        private="\n".join(private),
        manners=_SENTENCES[language] + turn_kinds if turn_kinds else "",
    )
    return "\n".join([line.rstrip() for line in instruction.splitlines() if line.strip()])


def history_for(
    loaded: LoadedScene, seat: str, lines: Sequence[SceneLine], summary: Summary | None = None
) -> list[AnyMessage]:
    """The lines that a seat witnessed as chat messages, ending with a user message to answer.

    The seat's own turns are AI messages. All lines between them are one user message, which ends with the
    cue of `turn_cue`. Later lines never change earlier messages, so the prompt cache stays valid.

    The summary replaces the first witnessed lines.
    """
    language = loaded.scene.language
    cue = turn_cue(loaded, seat)
    seen = witnessed(lines, seat)
    turns: list[AnyMessage] = []
    pending: list[str] = []
    if summary is not None:
        pending.append(_REMEMBERED[language].format(text=summary["text"]))
        seen = seen[summary["lines"] :]
    for line in seen:
        if line["speaker"] != seat or not is_turn(line):
            pending.append(render_line(loaded, line, seat))
            continue
        opened = GOES_ON[language] if turns else _BEGINS[language]
        turns.append(HumanMessage("\n".join([*(pending or [opened]), cue])))
        turns.append(AIMessage(render_own_line(loaded, line)))
        pending = []
    opened = GOES_ON[language] if turns else _BEGINS[language]
    return [*turns, HumanMessage("\n".join([*(pending or [opened]), cue]))]


def turn_cue(loaded: LoadedScene, seat: str) -> str:
    """The last line of each user message: that it is the seat's turn, and what the seat wants."""
    own, language = loaded.seats[seat], loaded.scene.language
    goals = ""
    if own.goals:
        between = _SENTENCES[language]
        goals = between + load_prompt("scene-goals", language).fill(text=between.join(own.goals))
    return load_prompt("scene-turn", language).fill(name=own.name, goals=goals)


def render_line(loaded: LoadedScene, line: SceneLine, seat: str | None = None) -> str:
    """Render a line as another seat reads it.

    The seat is the reader's; None for a reader outside the scene.
    """
    name, kind = loaded.names.get(line["speaker"], line["speaker"]), line["kind"]
    if seat is None and (loaded.kinds.get(kind) or kind_of(kind, ())).perceived_by == "addressees":
        # “Whispering to you” would be wrong for a reader outside the scene.
        return loaded.shown_forms[SAY.name].format(name=name, text=render_own_line(loaded, line))
    form = loaded.shown_forms.get(kind) or kind_of(kind, ()).shown_form(loaded.scene.language)
    return form.format(name=name, text=line["text"])


def render_own_line(loaded: LoadedScene, line: SceneLine) -> str:
    """Render a line as its speaker would write it."""
    language = loaded.scene.language
    to = [
        loaded.names[seat] for seat in line["audience"] if seat != line["speaker"] and seat in loaded.names
    ]
    kind = loaded.kinds.get(line["kind"]) or kind_of(line["kind"], ())
    return kind.write(line["text"], _BETWEEN[language].join(to), language)


def known_names(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine]) -> dict[str, str]:
    """The names of the others whom a seat has met in the scene, by seat."""
    met = set(_met_on_entering(loaded, seat, lines))
    met |= {line["speaker"] for line in witnessed(lines, seat) if line["speaker"] != NARRATOR}
    met.discard(seat)
    return {other: name for other, name in loaded.names.items() if other in met}


def _met_on_entering(loaded: LoadedScene, seat: str, lines: Sequence[SceneLine]) -> list[str]:
    """The other seats that were present when the seat first entered."""
    before: Sequence[SceneLine] = ()
    if not loaded.seats[seat].present:
        joins = (line["kind"] == "join" and line["speaker"] == seat for line in lines)
        before = lines[: next((place for place, joined in enumerate(joins) if joined), len(lines))]
    return [other for other in present_in(loaded.scene, before) if other != seat]


def _kind_instructions(turn_kinds: Sequence[MessageKind], language: Language) -> list[str]:
    """How to write the turn kinds: ours in a fixed order, then the scene's own."""
    ours = [kind for kind in TURN_KINDS if kind in turn_kinds]
    own = [kind for kind in turn_kinds if not kind.is_built_in]
    found = [in_language(kind.instruction, language) for kind in (*ours, *own)]
    return [instruction for instruction in found if instruction]


def _filled(prompt: str, language: Language, **fields: str) -> str:
    return load_prompt(prompt, language).fill(**fields)
