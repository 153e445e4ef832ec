"""A question to a judge model: the prompt, the JSON Schema of the answer, and the parser of the answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from rolellm_agents.text import one_line

Read = TypeVar("Read")

LONGEST_REASON: Final = 400
"""Maximum characters of a reason in the schema; without a limit a small model may never stop."""


@dataclass(frozen=True, kw_only=True)
class JudgeQuestion(Generic[Read]):
    """One question to a judge model."""

    prompt: str
    """Id, language and version of the prompts that it is built from."""
    text: str
    form: Mapping[str, Any]
    """JSON Schema of the answer. The reason comes first, so that the judgement follows from it."""
    read: Callable[[str], Read | None]
    """Parses the model's answer; returns None when the answer contains no judgement."""
    tokens: int = 320
    """Maximum number of tokens of the answer."""


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
    """The schema of the reason."""
    return {"type": "string", "minLength": 8, "maxLength": LONGEST_REASON}


def shortened(reason: object) -> str:
    """The reason on one line, safe to display; empty when `reason` is not a string."""
    return one_line(reason, 2 * LONGEST_REASON) if isinstance(reason, str) else ""
