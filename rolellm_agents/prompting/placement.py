"""Where lore goes in the messages that a model is sent, as SillyTavern places it."""

from collections.abc import Sequence
from itertools import groupby

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.cards.lore.lorebook import DEFAULT_DEPTH, Role
from rolellm_agents.models.message_marks import LORE_MARK, was_said
from rolellm_agents.recall.recalled import RecalledItem, RecalledLore

_BEFORE = ("before_char",)
_AFTER = ("after_char", "before_examples", "after_examples")
_AT_NOTE = ("before_note", "after_note")
_KINDS: dict[Role, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


def place_lore(messages: Sequence[BaseMessage], recalled: Sequence[RecalledItem]) -> list[BaseMessage]:
    """Put the active lore into a prompt.

    What stands before or after the character goes into the instruction, which must be the first message;
    what stands around the examples goes after it, since our examples are turns of their own. What stands at
    a depth becomes a message so many messages before the end, examples not counted; an author's note, of
    which there is none, would stand at depth 4.
    """
    lore = [item for item in recalled if item["kind"] == "lore"]
    if not lore or not messages:
        return list(messages)
    first, *rest = messages
    before = [item["text"] for item in lore if item["position"] in _BEFORE]
    after = [item["text"] for item in lore if item["position"] in _AFTER]
    if before or after:
        first = first.model_copy(update={"content": "\n".join([*before, first.text, *after])})
    return [first, *_with_depths(rest, [item for item in lore if _depth(item) is not None])]


def _depth(item: RecalledLore) -> int | None:
    if item["position"] in _AT_NOTE:
        return DEFAULT_DEPTH
    return item["depth"] if item["position"] == "at_depth" else None


def _with_depths(messages: Sequence[BaseMessage], lore: Sequence[RecalledLore]) -> list[BaseMessage]:
    """The messages with lore between them; deeper than the conversation is before its first message.

    What nobody said, such as examples, does not count.
    """
    said = [place for place, message in enumerate(messages) if was_said(message.additional_kwargs)]
    placed: dict[int, list[BaseMessage]] = {}
    ordered = sorted(lore, key=lambda item: (_depth(item) or 0, item["role"]))
    for (depth, role), items in groupby(ordered, key=lambda item: (_depth(item) or 0, item["role"])):
        place = said[max(0, len(said) - depth)] if said and depth > 0 else len(messages)
        text = "\n".join(item["text"] for item in items)
        message = _KINDS[role](content=text, additional_kwargs={LORE_MARK: True})
        placed.setdefault(place, []).append(message)
    result: list[BaseMessage] = []
    for place in range(len(messages) + 1):
        result += placed.get(place, [])
        result += messages[place : place + 1]
    return result
