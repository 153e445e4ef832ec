"""Guided questions for small models: a JSON Schema whose questions name something in the segment.

Without guidance, the smallest models ask empty questions or repeat the example. The schema prescribes the
character's name, a choice of beginnings and a choice of things from the lines; the model chooses among them
and completes the question. Each question of a request is about different things.
"""

import re
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any, Final, NamedTuple

from rolellm_agents.generation.passes import Kind, Pass
from rolellm_agents.generation.questions import question_form
from rolellm_agents.generation.segments import SOMEBODY, SourceLine
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.prompts import Prompt, load_prompt
from rolellm_agents.text.language import Language
from rolellm_agents.text.words import weight, words_of

_STEMS: Final[dict[Kind, str]] = {
    "script_based": "stems-script",
    "script_agnostic": "stems-agnostic",
    "boundary": "stems-boundary",
}
_UNKNOWN = "unknown-things"
_CHOICES = 3
"""Maximum number of things that a model may choose from for one question."""
_LONGEST_THING = 40
_LONGEST = 200
_GOES_ON: Final[dict[Language, str]] = {
    "en": r'(,? (and|of|in|at|with|when|that|who|on|for|before|after) [a-z][^?"\\]{2,50})?\?',
    "zh": r'(，[^？?"\\]{2,24})?？',
}
_AFTER_NAME: Final[dict[Language, str]] = {"en": ", ", "zh": "，"}
_AFTER_STEM: Final[dict[Language, str]] = {"en": " ", "zh": ""}
_NAMES = re.compile(r"(?<=[a-z,;:] )[A-Z][\w-]{2,}(?:(?: of| the| and)? [A-Z][\w-]{2,})*")
"""Capitalized words that do not begin a sentence."""
_THINGS = re.compile(
    r"\b(?:the|an?|my|your|his|her|their|our|its) ((?:[a-z-]+ )?[a-z-]{3,})"
    r"(?=[,.;:!?]| (?:of|in|on|at|to|for|with|from|by|and|or|that|which|who|is|was|were|are|had|has)\b)",
    re.IGNORECASE,
)
"""One or two words between an article or possessive and a punctuation mark or function word."""


class Thing(NamedTuple):
    """A name or noun in a line."""

    line: int
    """Line number, from 1."""
    words: str


def guided_form(asked: Pass, persona: Persona, count: int) -> dict[str, Any]:
    """The JSON Schema of an answer whose questions are about things in the request's lines.

    There are fewer questions than `count` when there are too few things to ask about.
    """
    lines = len(asked.segment.lines)
    free = question_form(count, lines)
    groups = _groups(asked, persona, count)
    if not groups:
        return free
    one = free["properties"]["questions"]["items"]
    stems = load_prompt(_STEMS[asked.kind], persona.language).text.splitlines()
    # Each question has different beginnings, as far as there are enough of them.
    begins = [stems[place :: min(len(groups), len(stems))] or stems for place in range(len(groups))]
    items = [_item(one, persona, begin, group) for begin, group in zip(begins, groups, strict=True)]
    questions = {
        "type": "array",
        "prefixItems": items,
        "items": False,
        "minItems": len(items),
        "maxItems": len(items),
    }
    return {**free, "properties": {"questions": questions}}


def guiding_prompts(language: Language) -> list[Prompt]:
    """The prompts that guided schemas are built from."""
    return [load_prompt(name, language) for name in (*_STEMS.values(), _UNKNOWN)]


def things_in(asked: Pass, persona: Persona) -> list[Thing]:
    """The distinct things in the lines: names first, then nouns, the rarest first."""
    found: dict[str, Thing] = {}
    for number, line in enumerate(asked.segment.lines, 1):
        heading = "" if line.heading == SOMEBODY[persona.language] else line.heading
        for words in (heading, *_named(line, persona.language)):
            if _is_worth_asking(words, persona):
                found.setdefault(words.casefold(), Thing(number, words))
    return sorted(found.values(), key=lambda thing: -_worth(thing.words, persona.language))


def _groups(asked: Pass, persona: Persona, count: int) -> list[list[Thing]]:
    """For each question, the things that it may be about, all from one line."""
    match asked.kind:
        case "script_based":
            things = things_in(asked, persona)
        case "script_agnostic":
            return [[Thing(0, asked.theme)]] * count
        case "boundary":
            unknown = load_prompt(_UNKNOWN, persona.language).text.splitlines()
            # Each theme starts at another place, so that requests differ.
            begin = sum(map(ord, asked.key)) % len(unknown)
            chosen = islice(cycle(unknown), begin, begin + min(count, len(unknown)))
            return [[Thing(0, words)] for words in chosen]
    by_line: dict[int, list[Thing]] = {}
    for thing in things:
        by_line.setdefault(thing.line, []).append(thing)
    chunks = [
        held[start : start + _CHOICES]
        for held in by_line.values()
        for start in range(0, len(held), _CHOICES)
    ]
    return chunks[:count]


def _item(
    one: dict[str, Any], persona: Persona, stems: Sequence[str], group: Sequence[Thing]
) -> dict[str, Any]:
    language = persona.language
    start = re.escape(persona.name + _AFTER_NAME[language])
    about = "|".join(re.escape(thing.words) for thing in group)
    pattern = (
        f"^{start}({'|'.join(map(re.escape, stems))}){_AFTER_STEM[language]}({about}){_GOES_ON[language]}$"
    )
    members = {
        **one["properties"],
        "question": {"type": "string", "pattern": pattern.replace(r"\ ", " "), "maxLength": _LONGEST},
    }
    if group[0].line:
        members["line"] = {"type": "integer", "enum": [group[0].line]}
    return {**one, "properties": members}


def _named(line: SourceLine, language: Language) -> list[str]:
    if language == "zh":
        return _nouns_in_chinese(line.text)
    names = [found.group() for found in _NAMES.finditer(line.text)]
    return names + [
        f"the {noun}" for found in _THINGS.finditer(line.text) if (noun := _noun(found.group(1)))
    ]


def _nouns_in_chinese(text: str) -> list[str]:
    # Imported here because the dictionary takes a moment to load and only Chinese needs it.
    import rjieba

    return [word for word, kind in rjieba.tag(text) if kind.startswith("n") and len(word) > 1]


def _noun(words: str) -> str:
    """The words before the first function word: “clever thief”, and “thing” of “thing was”."""
    kept: list[str] = []
    for word in words.split():
        if not words_of(word, "en") or not word.islower():
            break
        kept.append(word)
    return " ".join(kept)


def _is_worth_asking(words: str, persona: Persona) -> bool:
    own = {part.casefold() for part in persona.name.split()}
    return (
        len(words) <= _LONGEST_THING
        and not own & {part.casefold() for part in words.split()}
        and "|" not in words
    )


def _worth(words: str, language: Language) -> float:
    rarity = max((weight(word, language) for word in words_of(words, language)), default=0.0)
    is_name = language == "en" and words[:1].isupper()
    return rarity + (100.0 if is_name else 0.0)
