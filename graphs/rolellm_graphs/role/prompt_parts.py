"""The parts of a prompt: whether a message is instruction, example, insert, history or line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rolellm_agents.models.message_marks import (
    DEMONSTRATION_MARK,
    INSERT_MARK,
    LORE_MARK,
    RECALL_MARK,
    is_spoken,
)

Part = Literal["instruction", "example", "lore", "note", "recalled", "history", "line", "begun answer"]

_ROLES: dict[str, Literal["system", "user", "assistant"]] = {
    "system": "system",
    "human": "user",
    "ai": "assistant",
}


@dataclass(frozen=True)
class PromptPart:
    """One message of a prompt."""

    part: Part
    role: Literal["system", "user", "assistant"]
    text: str
    inserts: tuple[str, ...] = ()
    """Kinds of the inserts that the message holds, such as `lore` and `author-note`."""

    @property
    def title(self) -> str:
        """The part's display name; for inserts, the names of all inserts in the message."""
        return ", ".join(kind.replace("-", " ") for kind in self.inserts) or self.part


def parts_of(prompt: Sequence[Mapping[str, Any]]) -> tuple[PromptPart, ...]:
    """The parts of a prompt that the node `compose` created.

    Args:
        prompt: `type` and `data` of each message, as `messages_to_dict` returns them.
    """
    lines = [place for place, message in enumerate(prompt) if _is_user_line(message)]
    return tuple(
        PromptPart(
            _part(place, message, lines[-1] if lines else -1),
            _ROLES[message["type"]],
            message["data"]["content"],
            _inserts(message),
        )
        for place, message in enumerate(prompt)
    )


def _part(place: int, message: Mapping[str, Any], line: int) -> Part:
    marks = message["data"].get("additional_kwargs") or {}
    if inserts := _inserts(message):
        return "lore" if "lore" in inserts else "note"
    if marks.get(RECALL_MARK):
        return "recalled"
    if marks.get(DEMONSTRATION_MARK):
        return "example"
    if place == 0 and message["type"] == "system":
        return "instruction"
    if place == line:
        return "line"
    return "begun answer" if place > line and message["type"] == "ai" else "history"


def _inserts(message: Mapping[str, Any]) -> tuple[str, ...]:
    marks = message["data"].get("additional_kwargs") or {}
    # Checkpoints of older versions mark notes as lore, too.
    return tuple(marks.get(INSERT_MARK) or (["lore"] if marks.get(LORE_MARK) else []))


def _is_user_line(message: Mapping[str, Any]) -> bool:
    return message["type"] == "human" and is_spoken(message["data"].get("additional_kwargs") or {})
