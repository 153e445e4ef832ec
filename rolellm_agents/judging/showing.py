"""Render a persona and a conversation for a judge, shortened to fit its prompt."""

from collections.abc import Mapping, Sequence
from typing import Final

from rolellm_agents.judging.judged import ConversationTurn, Judged
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.description import description_of
from rolellm_agents.text import one_line, plain
from rolellm_agents.text.language import Language

_LONGEST_PROFILE: Final = 4_000
"""Maximum characters of a description; a card's may have two hundred thousand."""
_LONGEST_TURN: Final = 1_500
_LONGEST_REPLY: Final = 8_000
_DEMONSTRATIONS: Final = 3
_KNOWN: Final = 8
_LONGEST_ITEM: Final = 300

_USER: Final[Mapping[Language, str]] = {"en": "User", "zh": "用户"}
_COLON: Final[Mapping[Language, str]] = {"en": ": ", "zh": "："}
_NOTHING: Final[Mapping[Language, str]] = {"en": "(nothing)", "zh": "（没有）"}
_SAYS: Final[Mapping[Language, str]] = {"en": "Known for saying: ", "zh": "口头禅："}
_SPEAKS: Final[Mapping[Language, str]] = {"en": "Lines of {name}'s own:", "zh": "{name}自己的话："}
_KNOWS: Final[Mapping[Language, str]] = {"en": "Has lived through:", "zh": "经历过："}
_BETWEEN: Final[Mapping[Language, str]] = {"en": " / ", "zh": "／"}


def profile_of(persona: Persona) -> str:
    """A persona's profile: description, moment of the story, catchphrases, demonstrations and knowledge."""
    language = persona.language
    parts = [cut(description_of(persona), _LONGEST_PROFILE)]
    if persona.catchphrases:
        phrases = _BETWEEN[language].join(persona.catchphrases[:_KNOWN])
        parts.append(_SAYS[language] + one_line(phrases, 2 * _LONGEST_ITEM))
    if persona.demonstrations:
        lines = [one.reply for one in persona.demonstrations[:_DEMONSTRATIONS]]
        parts.append(_listed(_SPEAKS[language].format(name=persona.name), lines))
    if persona.knowledge:
        parts.append(_listed(_KNOWS[language], [one.text for one in persona.knowledge[:_KNOWN]]))
    return "\n".join(parts)


def conversation_of(judged: Judged, *, turns: int) -> str:
    """The last `turns` turns before a reply, each with its speaker."""
    language = judged.persona.language
    shown = [_render_turn(turn, judged.persona.name, language) for turn in judged.turns[-turns:]]
    return "\n".join(shown) or _NOTHING[language]


def fenced(reply: str) -> str:
    """Put a reply between `<<<` and `>>>`, so that the judge does not take it for instructions."""
    inner = cut(reply, _LONGEST_REPLY).replace("<<<", "‹‹‹").replace(">>>", "›››")
    return f"<<<\n{inner}\n>>>"


def cut(text: str, longest: int) -> str:
    """A text that is safe to display, shortened to at most `longest` characters."""
    shown = plain(text).strip()
    return shown if len(shown) <= longest else shown[: longest - 1].rstrip() + "…"


def _render_turn(turn: ConversationTurn, name: str, language: Language) -> str:
    speaker = name if turn.speaker == "persona" else _USER[language]
    return f"{speaker}{_COLON[language]}{cut(turn.text, _LONGEST_TURN)}"


def _listed(heading: str, items: Sequence[str]) -> str:
    return "\n".join([heading, *(f"- {one_line(item, _LONGEST_ITEM)}" for item in items)])
