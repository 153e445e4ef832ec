"""Where inserts go in a prompt, by SillyTavern's rules."""

from collections.abc import Sequence
from itertools import groupby

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.cards.lore.lorebook import DEFAULT_DEPTH, Role
from rolellm_agents.models.message_marks import INSERT_MARK, is_spoken
from rolellm_agents.prompting.inserts import PromptInsert

_BEFORE = ("before_char",)
_AFTER = ("after_char", "before_examples", "after_examples")
_AT_NOTE = ("before_note", "after_note")
_MESSAGES: dict[Role, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


def place_inserts(messages: Sequence[BaseMessage], inserts: Sequence[PromptInsert]) -> list[BaseMessage]:
    """Put inserts into a prompt.

    Inserts before or after the character join the instruction, which must be the first message. Those
    around the examples follow it, because our examples are turns of their own. An insert at depth n becomes
    a message before the n-th last turn of the conversation; examples and other inserts are not counted.
    Inserts around the author's note are placed at the note's default depth.
    """
    if not inserts or not messages:
        return list(messages)
    first, *rest = messages
    before = [insert.text for insert in inserts if insert.position in _BEFORE]
    after = [insert.text for insert in inserts if insert.position in _AFTER]
    if before or after:
        first = first.model_copy(update={"content": "\n".join([*before, first.text, *after])})
    return [first, *_with_depths(rest, [insert for insert in inserts if _depth(insert) is not None])]


def _depth(insert: PromptInsert) -> int | None:
    if insert.position in _AT_NOTE:
        return DEFAULT_DEPTH
    return insert.depth if insert.position == "at_depth" else None


def _with_depths(messages: Sequence[BaseMessage], inserts: Sequence[PromptInsert]) -> list[BaseMessage]:
    """Add a message for each depth and role; one deeper than the conversation precedes its first turn."""
    spoken = [place for place, message in enumerate(messages) if is_spoken(message.additional_kwargs)]
    placed: dict[int, list[BaseMessage]] = {}
    ordered = sorted(inserts, key=_depth_and_role)
    for (depth, role), group in groupby(ordered, key=_depth_and_role):
        place = spoken[max(0, len(spoken) - depth)] if spoken and depth > 0 else len(messages)
        together = list(group)
        message = _MESSAGES[role](
            content="\n".join(insert.text for insert in together),
            additional_kwargs={INSERT_MARK: list(dict.fromkeys(insert.kind for insert in together))},
        )
        placed.setdefault(place, []).append(message)
    result: list[BaseMessage] = []
    for place in range(len(messages) + 1):
        result += placed.get(place, [])
        result += messages[place : place + 1]
    return result


def _depth_and_role(insert: PromptInsert) -> tuple[int, Role]:
    return _depth(insert) or 0, insert.role
