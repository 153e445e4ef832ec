"""What a card's author wants said to the model beside the character: V2's prompts, SillyTavern's note."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, SystemMessage

from rolellm_agents.cards import Card, MacroScope, substitute
from rolellm_agents.cards.lore.lorebook import DEFAULT_DEPTH, ROLES, Position
from rolellm_agents.cards.values import integer, mapping, text
from rolellm_agents.models.message_marks import LORE_MARK
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import CARD, char_name
from rolellm_agents.recall.recalled import RecalledLore


def with_card_prompts(messages: Sequence[BaseMessage], persona: Persona, user: str) -> list[BaseMessage]:
    """The messages with the card's `system_prompt` and `post_history_instructions`, as V2 asks for them.

    The first replaces our instruction, which it may take up with `{{original}}`; the second follows the
    conversation.

    Args:
        messages: a strategy's; the first is the instruction.
        persona: whose card; one without a card changes nothing.
        user: the person's display name.
    """
    card = _card(persona)
    if card is None or not messages:
        return list(messages)
    first, *rest = messages
    if card.system_prompt.strip():
        # The description stands in our instruction; an author who leaves {{original}} out means the manner.
        words = card.system_prompt
        if "{{original}}" not in words:
            words = f"{words}\n\n{persona.description}"
        first = SystemMessage(_filled(words, persona, user, original=first.text))
    if card.post_history_instructions.strip():
        after = _filled(card.post_history_instructions, persona, user, original="")
        rest = [*rest, SystemMessage(after, additional_kwargs={LORE_MARK: True})]
    return [first, *rest]


def character_note(persona: Persona, user: str) -> list[RecalledLore]:
    """SillyTavern's character's note, which stands at a depth like lore; empty when there is none."""
    card = _card(persona)
    note = mapping(card.extensions.get("depth_prompt")) if card else {}
    words = text(note.get("prompt"))
    if not words.strip():
        return []
    role = text(note.get("role"))
    return [
        RecalledLore(
            kind="lore",
            book="",
            uid="character-note",
            name="character's note",
            text=_filled(words, persona, user, original=None),
            position="at_depth",
            depth=integer(note.get("depth"), DEFAULT_DEPTH),
            role=next((one for one in ROLES if one == role), "system"),
            why="The card always has it there.",
        )
    ]


def authors_note(note: str, persona: Persona, user: str) -> list[RecalledLore]:
    """SillyTavern's author's note: what the person who directs the conversation wants borne in mind."""
    words = _filled(note, persona, user, original=None)
    return (
        [_lore("author's note", words, "at_depth", "It was written for this conversation.")]
        if words
        else []
    )


def note_about(user: str, about: str) -> list[RecalledLore]:
    """Who the person is, beside the character's own description."""
    words = about.strip()
    return [_lore("you", f"{user}: {words}", "after_char", "It is who you are.")] if words else []


def scene_note(scene: str) -> list[RecalledLore]:
    """What the character is told of the scene it is in, beside its own description."""
    return [_lore("scene", scene, "after_char", "The character is in this scene.")] if scene else []


def _lore(name: str, text: str, position: Position, why: str) -> RecalledLore:
    return RecalledLore(
        kind="lore",
        book="",
        uid=name.replace(" ", "-"),
        name=name,
        text=text,
        position=position,
        depth=DEFAULT_DEPTH,
        role="system",
        why=why,
    )


def _card(persona: Persona) -> Card | None:
    document = mapping(mapping(persona.extensions.get(CARD)).get("document"))
    return Card(document) if document else None


def _filled(words: str, persona: Persona, user: str, *, original: str | None) -> str:
    scope = MacroScope(
        char=char_name(persona), user=user, original=original, description=persona.description
    )
    return substitute(words, scope).strip()
