"""The JSON Schema of generated questions, and the parser of a model's answer.

The paper generates triplets of question, confidence and answer (arXiv 2310.00746, §3.3). Here a separate
request asks for the answer, in the character's voice. As in the paper, the confidence says how complete a
question is.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from rolellm_agents.models.loose_json import values_in
from rolellm_agents.text import one_line

Confidence = Literal["high", "low"]

_LONGEST_QUESTION = 240
_LONGEST_REASON = 160
_HIGH = re.compile(r"high|certain|sure|yes|true|完整|高", re.IGNORECASE)
_NOT_HIGH = re.compile(r"not\b|un(?:certain|sure)|low|no\b|false|不|低", re.IGNORECASE)
_SCALES: Final = (1.0, 10.0, 100.0)
"""The possible maxima of a numeric confidence."""
_ENOUGH = 0.7
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "question": ("question", "q", "问题", "提问"),
    "confidence": ("confidence", "completeness", "置信度", "完整性", "完整度"),
    "reason": ("reason", "rationale", "why", "理由", "原因"),
    "line": ("line", "lines", "line_number", "行", "行号"),
}
"""Names that models use for the members instead of those in the schema."""
_NESTED = 6


@dataclass(frozen=True)
class GeneratedQuestion:
    """A generated question."""

    text: str
    confidence: Confidence
    """`low` also when the model gave none."""
    reason: str
    line: int | None
    """Number of the line that answers it, from 1; None when there is no such line."""


def question_form(count: int, lines: int) -> dict[str, Any]:
    """The JSON Schema of an answer with up to `count` questions.

    Args:
        count: maximum number of questions, at least 1.
        lines: number of lines of the segment; when 0, the schema has no `line`.
    """
    members: dict[str, Any] = {
        "question": {"type": "string", "minLength": 8, "maxLength": _LONGEST_QUESTION}
    }
    if lines:
        members["line"] = {"type": "integer", "minimum": 1, "maximum": lines}
    members["reason"] = {"type": "string", "maxLength": _LONGEST_REASON}
    members["confidence"] = {"type": "string", "enum": ["high", "low"]}
    question = {
        "type": "object",
        "properties": members,
        "required": [*members],
        "additionalProperties": False,
    }
    return {
        "title": "questions",
        "description": "Questions to a character.",
        "type": "object",
        "properties": {"questions": {"type": "array", "items": question, "minItems": 1, "maxItems": count}},
        "required": ["questions"],
        "additionalProperties": False,
    }


def read_questions(text: str, *, most: int, lines: int) -> list[GeneratedQuestion]:
    """Parse the questions in a model's answer, which may contain other text; empty when it has no JSON.

    `lines` is the number of lines of the segment.
    """
    found: dict[str, GeneratedQuestion] = {}
    for value in values_in(text):
        for member in _members(value, _NESTED):
            question = _question(member, lines)
            if question and len(found) < most:
                found.setdefault(question.text, question)
    return [*found.values()]


def _members(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    """The objects in a value that contain a question, in order."""
    if depth == 0:
        return
    if isinstance(value, list):
        for item in value:
            yield from _members(item, depth - 1)
    elif isinstance(value, dict):
        if isinstance(_named(value, "question"), str):
            yield value
        else:
            for item in value.values():
                yield from _members(item, depth - 1)


def _named(held: Mapping[str, Any], name: str) -> Any:
    folded = {key.casefold().strip(): value for key, value in held.items()}
    return next((folded[alias] for alias in _NAMES[name] if alias in folded), None)


def _question(held: Mapping[str, Any], lines: int) -> GeneratedQuestion | None:
    text = one_line(str(_named(held, "question")), 2 * _LONGEST_QUESTION)
    if not re.search(r"\w", text):
        return None
    reason = _named(held, "reason")
    return GeneratedQuestion(
        text=text,
        confidence=_confidence(_named(held, "confidence")),
        reason=one_line(reason, 2 * _LONGEST_REASON) if isinstance(reason, str) else "",
        line=_line(_named(held, "line"), lines),
    )


def _confidence(value: Any) -> Confidence:
    match value:
        case bool():
            return "high" if value else "low"
        case int() | float():
            scale = next((scale for scale in _SCALES if value <= scale), None)
            return "high" if scale and value >= _ENOUGH * scale else "low"
        case str():
            number = re.fullmatch(r"\s*(\d{1,3}(?:\.\d+)?)\s*%?\s*", value)
            if number:
                return _confidence(float(number.group(1)))
            return "high" if _HIGH.search(value) and not _NOT_HIGH.search(value) else "low"
        case [first, *_]:
            return _confidence(first)
        case _:
            return "low"


def _line(value: Any, lines: int) -> int | None:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = re.search(r"\d{1,9}", str(value))
    number = int(found.group()) if found else 0
    return number if 1 <= number <= lines else None
