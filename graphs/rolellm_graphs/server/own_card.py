"""A persona's card in a client's messages.

Programs for character cards send the card's texts with each request. If the card is that of the persona
which answers, the persona's prompt already has these texts.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from langchain_core.messages import BaseMessage, SystemMessage

from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import card_of

_SHORTEST: Final = 40
"""Characters of a description below which it does not identify a card."""
_MACRO: Final = re.compile(r"(\{\{[^{}]*\}\}|<USER>|<BOT>)", re.IGNORECASE)
_CHARACTER: Final = ("{{char}}", "<bot>")
_SEPARATORS: Final = re.compile(r"\s*\[(?:Example Chat|Start a new (?:group )?chat)\]\s*", re.IGNORECASE)
"""Messages with which SillyTavern announces example dialogues and the conversation."""
_SPEAKER: Final = re.compile(r"(?:[^\n:]{1,100}: )?")
"""In a group, SillyTavern writes the speaker in front of each line of an example dialogue."""


def own_card_remover(persona: Persona) -> Callable[[Sequence[BaseMessage]], list[BaseMessage]]:
    """Returns a function that removes the persona's card from system messages.

    The texts of the card are removed from conversations that have its complete description: description,
    personality, scenario and example dialogues. Other texts stay, and so do changed ones.
    """
    card = card_of(persona, None, {})
    # The texts that the persona's prompt has; further ones of the card belong to the scene.
    texts = (card.description, card.examples, card.personality, card.scenario)
    patterns = [_pattern(text, persona.name) for text in texts if text.strip()]
    lines = [
        re.compile(_SPEAKER.pattern + _pattern(text, persona.name).pattern)
        for pair in persona.demonstrations
        for text in (str(pair.user), str(pair.reply))
    ]
    identifies = len(card.description.strip()) >= _SHORTEST

    def without_card(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        if not identifies or not any(_has(patterns[0], message) for message in messages):
            return list(messages)
        kept = (_without(message, patterns, [*lines, _SEPARATORS]) for message in messages)
        return [message for message in kept if message is not None]

    return without_card


def _has(pattern: re.Pattern[str], message: BaseMessage) -> bool:
    return isinstance(message, SystemMessage) and pattern.search(message.text) is not None


def _without(
    message: BaseMessage, parts: Sequence[re.Pattern[str]], wholes: Sequence[re.Pattern[str]]
) -> BaseMessage | None:
    """A message without parts of the card; None if nothing else was in it."""
    if not isinstance(message, SystemMessage):
        return message
    text = str(message.text)
    if any(whole.fullmatch(text.strip()) for whole in wholes):
        return None
    for part in parts:
        text = part.sub("", text)
    return SystemMessage(text.strip()) if text.strip() else None


def _pattern(text: str, name: str) -> re.Pattern[str]:
    """Matches a card's text with its macros filled and any white space between its words."""
    written = gap = ""
    for piece in _MACRO.split(text.strip()):
        if _MACRO.fullmatch(piece):
            gap += re.escape(name) if piece.lower() in _CHARACTER else r"[^\n]{0,200}?"
            continue
        words = r"\s+".join(map(re.escape, piece.split()))
        before, after = (r"\s*" if space.isspace() else "" for space in (piece[:1], piece[-1:]))
        # An atomic group never tries another end of the macro before it, which keeps the time linear.
        written += f"(?>{gap}{before}{words})" + (after if words else "")
        gap = ""
    return re.compile(written + gap)
