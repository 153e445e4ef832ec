"""What a text is like."""

import re


def is_one_sentence(text: str) -> bool:
    """Whether it is a single line with one end, not counting what stands in brackets or is a question."""
    without_quoted = re.sub(r"\(.*\)", "", text)
    return text.isprintable() and text[-1:] in {".", "?"} and not re.search(r"[.!]\s+\S", without_quoted)
