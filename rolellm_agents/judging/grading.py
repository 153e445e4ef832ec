"""The rubric judge's question, and the parser of its grade."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rolellm_agents.judging.asking import JudgeQuestion, form_of, reason_form, shortened
from rolellm_agents.judging.judged import Judged
from rolellm_agents.judging.rubrics import GRADES, Rubric
from rolellm_agents.judging.showing import conversation_of, fenced, profile_of
from rolellm_agents.models.loose_json import values_in
from rolellm_agents.prompting.prompts import load_prompt

_TURNS, _TURNS_OF_ALL = 6, 40
"""Turns shown before a reply: for rubrics of a single reply, and for rubrics over several turns."""
_GRADE_KEYS: Final = ("grade", "score", "rating", "评分", "分数", "等级")
_REASON_KEYS: Final = ("reason", "rationale", "explanation", "理由", "原因")
_NAMED = re.compile(
    r"(?:\b(?:grade|score|rating)\b|评分|分数|等级|评级)\W{0,8}?(?:(?:is|of|would be|为|是)\W{0,4})?"
    r"(?<![\d.])([0-9]{1,3}(?:\.[0-9]+)?)(?![\d%])",
    re.IGNORECASE,
)
_OUT_OF = re.compile(r"(?<![\d.])([0-9]{1,3})(?:\s*/\s*|\s+(?:out\s+)?of\s+)5(?![\d.])", re.IGNORECASE)
_POINTS = re.compile(r"(?<![\d.])([0-9]{1,3})\s*分")


@dataclass(frozen=True)
class Grade:
    """A judge's grade with its reason."""

    grade: int
    reason: str


def grade_question(rubric: Rubric, judged: Judged) -> JudgeQuestion[Grade]:
    """The judge's question about one reply by one rubric."""
    prompt = load_prompt("judge-rubric", rubric.language)
    text = prompt.fill(
        name=judged.persona.name,
        profile=profile_of(judged.persona),
        conversation=conversation_of(judged, turns=_TURNS_OF_ALL if rubric.over_turns else _TURNS),
        reply=fenced(judged.reply),
        title=rubric.title,
        looks_at=rubric.looks_at,
        grades="\n".join(
            f"{grade}: {meaning}" for grade, meaning in zip(GRADES, rubric.grades, strict=True)
        ),
    )
    form = form_of(
        "grade",
        "A reason and the grade that follows from it.",
        {"reason": reason_form(), "grade": {"type": "integer", "enum": [*GRADES]}},
    )
    return JudgeQuestion(prompt=f"{prompt.name}, {rubric.name}", text=text, form=form, read=read_grade)


def why_not_graded(rubric: Rubric, judged: Judged) -> str:
    """Why a reply cannot be graded, in one sentence; empty when it can."""
    if not judged.reply.strip():
        return "The reply is empty."
    if rubric.over_turns and not any(turn.speaker == "persona" for turn in judged.turns):
        return "It is the first reply, so there is nothing to compare it with."
    return ""


def read_grade(text: str) -> Grade | None:
    """Parse a judge's grade, from JSON or from prose; None when there is none, or more than one."""
    found = [held for held in values_in(text) if isinstance(held, dict) and _has(held, _GRADE_KEYS)]
    if found:
        held = found[-1]
        grade = _whole_grade(_of(held, _GRADE_KEYS))
        return None if grade is None else Grade(grade, shortened(_of(held, _REASON_KEYS)))
    said = {number for pattern in (_NAMED, _OUT_OF, _POINTS) for number in pattern.findall(text)}
    if not said and re.fullmatch(r"\W*[0-9]\W*", text):
        said = set(re.findall(r"[0-9]", text))
    grade = _whole_grade(said.pop()) if len(said) == 1 else None
    return None if grade is None else Grade(grade, shortened(text))


def _whole_grade(value: object) -> int | None:
    """A grade as an integer; None when it is not one of `GRADES`."""
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9](?:\.0+)?\s*(?:/\s*5)?\s*分?\s*", value):
        value = float(re.findall(r"[0-9]", value)[0])
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in GRADES:
        return None
    return int(value)


def _has(held: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    return any(key.casefold().strip() in names for key in held)


def _of(held: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((value for key, value in held.items() if key.casefold().strip() in names), None)
