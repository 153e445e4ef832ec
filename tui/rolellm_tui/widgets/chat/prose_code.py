"""The lines of a block of code, highlighted if it names its language."""

from functools import lru_cache

from textual.content import Content
from textual.highlight import highlight

_LONGEST = 20_000
"""Maximum length that is highlighted, which is slow."""


@lru_cache(maxsize=256)
def code_lines(code: str, info: str, style: str) -> tuple[Content, ...]:
    """The lines of a block of code.

    Args:
        code: the text.
        info: what stands behind the fence; its first word names the language.
        style: the style of the whole text, below the colours of the language.
    """
    text = code.rstrip("\n")
    language = info.split()[0] if info.strip() else ""
    if len(text) > _LONGEST or not language:
        return tuple(Content.styled(line, style) for line in text.split("\n"))
    content = highlight(text, language=language)
    return tuple(line.stylize_before(style) for line in content.split("\n", allow_blank=True))
