"""Replies without the speaker's name: who is meant to be told by the voice must not be told by the name."""

import re

_CAPITALIZED = re.compile(r"(?<![\w'’-])[A-Z][\w'’-]+")
_STAND_IN = "…"


def nameless(text: str, name: str) -> str:
    """The text with the name, and each capitalized word of it, replaced by an ellipsis.

    Args:
        text: in any language.
        name: a title in it goes, too: “Coach Taylor” becomes an ellipsis wherever it stands.
    """
    words = [
        rf"(?<!\w){re.escape(word)}(?!\w)"
        for word in sorted(_CAPITALIZED.findall(name), key=len, reverse=True)
    ]
    whole = rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])"
    without = re.sub("|".join([f"(?i:{whole})", *words]), _STAND_IN, text)
    return re.sub(rf"{_STAND_IN}(?:[\s.]*{_STAND_IN})+", _STAND_IN, without).strip()
