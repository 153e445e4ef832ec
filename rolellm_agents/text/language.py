"""The languages of personas, and detection of a text's language."""

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
"""Common words of Spanish, French, German, Italian and Portuguese that are not English words."""
_SURE = 3
"""The fewest of these words that indicate another language; fewer may be a quotation."""
_LETTER = re.compile(r"[^\W\d_]")


def language_of(text: str) -> Language:
    """`zh` if more than a quarter of the letters are Chinese, otherwise `en`."""
    letters = len(_LETTER.findall(text))
    return "zh" if 4 * len(_HAN.findall(text)) > letters else "en"


def is_in_other_language(text: str, language: str) -> bool:
    """Whether a text is certainly not in `language` (`en` or `zh`); single foreign names do not count."""
    han, latin = len(_HAN.findall(text)), len(_LATIN.findall(text))
    if language == "zh":
        return latin > max(han, 3)
    others = len(_OTHER_LATIN.findall(text))
    return han > latin or (others >= _SURE and others > len(_ENGLISH.findall(text)))
