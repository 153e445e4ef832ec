"""The languages of personas, and which of them a text is in."""

import re
from typing import Literal

Language = Literal["en", "zh"]

_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]")
_ENGLISH = re.compile(
    r"\b(?:the|and|of|to|is|was|are|you|it|that|this|with|for|but|have|not|from|my|your|what)\b",
    re.IGNORECASE,
)
_OTHER_LATIN = re.compile(
    r"\b(?:el|los|las|una|por|para|está|qué|pero|le|les|des|une|est|dans|pour|je|ne|pas|vous|der|das|und|ist"
    r"|nicht|ein|eine|ich|mit|auf|il|che|per|non|sono|della|não|uma|com|você)\b",
    re.IGNORECASE,
)
"""Small words of Spanish, French, German, Italian and Portuguese that English has not."""
_SURE = 3
"""So many of them are no quotation."""
_LETTER = re.compile(r"[^\W\d_]")


def language_of(text: str) -> Language:
    """`zh` when a good part of the letters are Chinese, else `en`."""
    letters = len(_LETTER.findall(text))
    return "zh" if 4 * len(_HAN.findall(text)) > letters else "en"


def is_in_other_language(text: str, language: str) -> bool:
    """Whether a text is certainly not in English (`en`) or Chinese (`zh`); a single name is not enough."""
    han, latin = len(_HAN.findall(text)), len(_LATIN.findall(text))
    if language == "zh":
        return latin > max(han, 3)
    others = len(_OTHER_LATIN.findall(text))
    return han > latin or (others >= _SURE and others > len(_ENGLISH.findall(text)))
