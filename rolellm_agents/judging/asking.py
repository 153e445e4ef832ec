"""A question to a model that judges: the prompt, the form of the answer, how other words are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from rolellm_agents.text import one_line

Read = TypeVar("Read")

LONGEST_REASON: Final = 400
"""Characters that a form leaves for a reason; without an end a small model would go on for ever."""


@dataclass(frozen=True, kw_only=True)
class JudgeQuestion(Generic[Read]):
    """What a model is asked once."""

    prompt: str
    """Id, language and version of its texts."""
    text: str
    form: Mapping[str, Any]
    """A JSON Schema, the reason before the judgement: what is said first is what the rest rests on."""
    read: Callable[[str], Read | None]
    """From the model's words to the judgement; None when they make none."""
    tokens: int = 320
    """That the answer may take."""


def form_of(title: str, description: str, members: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with exactly these members, in their order."""
    return {
        "title": title,
        "description": description,
        "type": "object",
        "properties": dict(members),
        "required": [*members],
        "additionalProperties": False,
    }


def reason_form() -> dict[str, Any]:
    """The part of a form in which the reason stands."""
    return {"type": "string", "minLength": 8, "maxLength": LONGEST_REASON}


def shortened(reason: object) -> str:
    """A reason in one line that is safe to show; empty when it is no text."""
    return one_line(reason, 2 * LONGEST_REASON) if isinstance(reason, str) else ""
