"""Typographic quotes and dashes."""

import re

from rolellm_agents.scene.names import HAN

_OPENS_AFTER = r"(?:^|(?<=[\s(\[{（【—–\-“‘/\ue000\ue002]))"
_DOUBLE_OPENS = re.compile(_OPENS_AFTER + '"')
_PAIRED_SINGLE = re.compile(_OPENS_AFTER + r"'(?=\S)([^'\n]*?(?:\w'\w[^'\n]*?)*\S)'(?!\w)")
_TO_SINGLE = str.maketrans("“”", "‘’")
_HAN = re.compile(f"[{HAN}]")
_WRAPPED = re.compile(r"\A(?:\"([^\"“”]*)\"|“([^“”]*)”|「([^「」]*)」)\Z", re.DOTALL)
_BEGINS_QUOTED = re.compile(
    r"(?:\"[^\"]*[,.!?…，。！？—-]\"|“[^“”]*[,.!?…，。！？—-]”|「[^「」]*」)", re.DOTALL
)


def printed(text: str) -> str:
    """Replace straight quotes, double hyphens and three dots with typographic characters."""
    text = text.replace("...", "…").replace("--", "—")
    if _HAN.search(text):
        return _alternating(text)
    text = _DOUBLE_OPENS.sub("“", text).replace('"', "”")
    return _PAIRED_SINGLE.sub(r"‘\1’", text).replace("'", "’")


def inside_quotes(text: str) -> str:
    """A text with single quotes in place of double ones, to be put in double quotes."""
    return text.translate(_TO_SINGLE)


def unwrapped(text: str) -> str:
    """A text without the quotes that enclose all of it."""
    found = _WRAPPED.match(text.strip())
    return next(group for group in found.groups() if group is not None).strip() if found else text


def is_prose(text: str) -> bool:
    """Whether a text has its own quotation marks, with narration between them."""
    found = _BEGINS_QUOTED.match(text.strip())
    return bool(found and re.search(r"\w", text.strip()[found.end() :]))


def _alternating(text: str) -> str:
    """Open and close quotes in turn, for text without blanks between words."""
    parts = text.split('"')
    return (
        "".join(part + ("“" if number % 2 == 0 else "”") for number, part in enumerate(parts[:-1]))
        + parts[-1]
    )
