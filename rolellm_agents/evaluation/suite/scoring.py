"""Scores of answers that need no judge, and the judge's question about facts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rolellm_agents.evaluation.suite.tasks import Contains, OneOf, RatedAs, SuiteTask
from rolellm_agents.judging.asking import JudgeQuestion, form_of, reason_form
from rolellm_agents.judging.showing import fenced
from rolellm_agents.models.loose_json import values_in
from rolellm_agents.prompting.description import description_of
from rolellm_agents.prompting.prompts import load_prompt

_LETTERS: Final = re.compile(r"(?<![A-Za-z])([A-Z])(?![A-Za-z])")
_CHOSEN: Final = "choice"


def choice_form(expected: OneOf) -> dict[str, Any]:
    """The JSON Schema of an answer: a letter, or a list of letters if several options are right."""
    letter = {"type": "string", "enum": [*expected.options]}
    if len(expected.right) == 1:
        return form_of(_CHOSEN, "The letter of the right option.", {_CHOSEN: letter})
    letters = {"type": "array", "items": letter, "minItems": 1, "maxItems": len(expected.options)}
    return form_of(_CHOSEN, "The letters of all right options.", {_CHOSEN: letters})


def chosen_letters(text: str, options: Mapping[str, str]) -> list[str]:
    """The letters that an answer names, in JSON or in words; empty if there are none."""
    for held in values_in(text):
        if isinstance(held, dict) and _CHOSEN in held:
            found = held[_CHOSEN]
            letters = found if isinstance(found, list) else [found]
            return list(dict.fromkeys(str(one).strip() for one in letters if str(one).strip() in options))
    return [one for one in dict.fromkeys(_LETTERS.findall(text)) if one in options]


def option_score(letters: Sequence[str], expected: OneOf) -> float:
    """1 for the right option; of several right ones the share that was named, or 0 with a wrong one."""
    if len(expected.right) == 1:
        return float(letters[:1] == [*expected.right])
    if any(one not in expected.right for one in letters):
        return 0.0
    return len(set(letters)) / len(set(expected.right))


def contained_share(text: str, expected: Contains) -> float:
    """The share of the expected words that a text contains, ignoring case."""
    found = text.casefold()
    return sum(word.casefold() in found for word in expected.words) / len(expected.words)


def chance_level(tasks: Sequence[SuiteTask]) -> float | None:
    """The mean score of random answers; None for tasks without options or with several right ones."""
    levels = [level for one in tasks if (level := _chance(one)) is not None]
    return sum(levels) / len(levels) if levels and len(levels) == len(tasks) else None


def _chance(task: SuiteTask) -> float | None:
    match task.expected:
        case OneOf(options=options, right=[_]):
            return 1 / len(options)
        case RatedAs():
            return 0.5
        case _:
            return None


def statement_question(task: SuiteTask, expected: RatedAs, answer: str) -> JudgeQuestion[int]:
    """The judge's question how far an answer shows that a statement is true of the persona.

    The judge is not told who the persona is, so that it judges the answer and not what it knows of somebody
    famous (“anonymous” in InCharacter).
    """
    prompt = load_prompt("suite-statement", task.language)
    text = prompt.fill(
        question=task.turns[-1].text,
        answer=fenced(answer),
        statement=expected.statement,
        low=str(expected.low),
        high=str(expected.high),
    )
    rating = {"type": "integer", "minimum": expected.low, "maximum": expected.high}
    form = form_of("rating", "A reason and a rating.", {"reason": reason_form(), "rating": rating})

    def read(reply: str) -> int | None:
        return read_rating(reply, expected.low, expected.high)

    return JudgeQuestion(prompt=prompt.name, text=text, form=form, read=read)


def read_rating(text: str, low: int, high: int) -> int | None:
    """Parse the answer to `statement_question`; None without a rating on the scale."""
    for held in values_in(text):
        rating = held.get("rating") if isinstance(held, dict) else None
        if isinstance(rating, int) and not isinstance(rating, bool) and low <= rating <= high:
            return rating
    return None


def fact_question(task: SuiteTask, fact: str, answer: str) -> JudgeQuestion[bool]:
    """The judge's question whether a persona's answer agrees with a fact."""
    prompt = load_prompt("suite-fact", task.language)
    text = prompt.fill(
        name=task.persona.name if task.persona else "",
        about=description_of(task.persona) if task.persona else "",
        question=task.turns[-1].text,
        answer=fenced(answer),
        fact=fact,
    )
    members = {"reason": reason_form(), "agrees": {"type": "boolean"}}
    form = form_of("fact", "A reason and whether the answer agrees.", members)
    return JudgeQuestion(prompt=prompt.name, text=text, form=form, read=read_agreement)


def read_agreement(text: str) -> bool | None:
    """Parse the answer to `fact_question`; None when it does not say."""
    for held in values_in(text):
        if isinstance(held, dict) and isinstance(held.get("agrees"), bool):
            return bool(held["agrees"])
    return None
