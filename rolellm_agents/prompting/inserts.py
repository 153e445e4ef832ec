"""Inserts: texts in a prompt in addition to persona and conversation, such as notes, scenes and lore."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import BaseMessage, SystemMessage

from rolellm_agents.cards import MacroScope, substitute
from rolellm_agents.cards.lore.lorebook import DEFAULT_DEPTH, ROLES, Position, Role
from rolellm_agents.cards.values import integer, mapping, text
from rolellm_agents.models.message_marks import INSERT_MARK
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import char_name, kept_card
from rolellm_agents.prompting.summary import remembered
from rolellm_agents.recall.recalled import RecalledLore

InsertKind = Literal[
    "lore", "author-note", "character-note", "user-persona", "scene", "summary", "card-prompt"
]


@dataclass(frozen=True, kw_only=True)
class PromptInsert:
    """A text and its place in a prompt."""

    kind: InsertKind
    text: str
    position: Position
    depth: int = DEFAULT_DEPTH
    """For the position `at_depth`: the number of conversation turns that follow it."""
    role: Role = "system"
    """The role of its message, for the position `at_depth`."""


def lore_insert(lore: RecalledLore) -> PromptInsert:
    """An active lorebook entry as an insert."""
    return PromptInsert(
        kind="lore", text=lore["text"], position=lore["position"], depth=lore["depth"], role=lore["role"]
    )


def has_card(persona: Persona) -> bool:
    """Whether the persona was made from a character card."""
    return kept_card(persona) is not None


def with_card_prompts(messages: Sequence[BaseMessage], persona: Persona, user: str) -> list[BaseMessage]:
    """Add a card's `system_prompt` and `post_history_instructions` as the V2 specification requires.

    The first replaces our instruction, which it can include with `{{original}}`; the second follows the
    conversation.

    The first message is the instruction. Without a card nothing changes.
    """
    card = kept_card(persona)
    if card is None or not messages:
        return list(messages)
    first, *rest = messages
    if card.system_prompt.strip():
        # Our instruction contains the description; without {{original}} the description would be lost.
        words = card.system_prompt
        if "{{original}}" not in words:
            words = f"{words}\n\n{persona.description}"
        first = SystemMessage(_filled(words, persona, user, original=first.text))
    if card.post_history_instructions.strip():
        after = _filled(card.post_history_instructions, persona, user, original="")
        rest = [*rest, SystemMessage(after, additional_kwargs={INSERT_MARK: [_CARD_PROMPT]})]
    return [first, *rest]


def character_note(persona: Persona, user: str) -> list[PromptInsert]:
    """The character's note of SillyTavern (`depth_prompt`); empty when the card has none."""
    card = kept_card(persona)
    note = mapping(card.extensions.get("depth_prompt")) if card else {}
    words = text(note.get("prompt"))
    if not words.strip():
        return []
    role = text(note.get("role"))
    return [
        PromptInsert(
            kind="character-note",
            text=_filled(words, persona, user, original=None),
            position="at_depth",
            depth=integer(note.get("depth"), DEFAULT_DEPTH),
            role=next((known for known in ROLES if known == role), "system"),
        )
    ]


def authors_note(note: str, persona: Persona, user: str) -> list[PromptInsert]:
    """SillyTavern's author's note: instructions of the person who directs the conversation."""
    words = _filled(note, persona, user, original=None) if note else ""
    return [PromptInsert(kind="author-note", text=words, position="at_depth")] if words else []


def user_persona_insert(user: str, about: str) -> list[PromptInsert]:
    """The user's name and description, after the character's own; empty without a description."""
    words = about.strip()
    if not words:
        return []
    return [PromptInsert(kind="user-persona", text=f"{user}: {words}", position="after_char")]


def scene_insert(scene: str) -> list[PromptInsert]:
    """What the character knows of the scene it is in, after its description; empty without a scene."""
    return [PromptInsert(kind="scene", text=scene, position="after_char")] if scene else []


def summary_insert(summary: str, persona: Persona) -> PromptInsert:
    """A summary of the conversation's earlier messages, after the description."""
    words = remembered(char_name(persona), summary, persona.language)
    return PromptInsert(kind="summary", text=words, position="after_char")


_CARD_PROMPT: InsertKind = "card-prompt"


def _filled(words: str, persona: Persona, user: str, *, original: str | None) -> str:
    scope = MacroScope(
        char=char_name(persona), user=user, original=original, description=persona.description
    )
    return substitute(words, scope).strip()
