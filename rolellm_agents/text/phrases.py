"""Phrases in texts: the opening of a text, and the number of times that it contains a phrase."""

import re


def opening(text: str, language: str) -> str:
    """The first three words; in Chinese, which has no spaces between words, the first three characters."""
    return bare(text).replace(" ", "")[:3] if language == "zh" else " ".join(bare(text).split()[:3])


def is_heard(phrase: str, reply: str, language: str) -> bool:
    """Whether the reply contains the words of the phrase consecutively."""
    return times_heard(phrase, reply, language) > 0


def times_heard(phrase: str, reply: str, language: str) -> int:
    """How often the reply contains the words of the phrase consecutively."""
    words, said = bare(phrase), bare(reply)
    if not words:
        return 0
    if language == "zh":
        return said.replace(" ", "").count(words.replace(" ", ""))
    # Each word gets its own spaces, so that immediate repetitions are counted separately.
    apart = "  "
    return f" {said.replace(' ', apart)} ".count(f" {words.replace(' ', apart)} ")


def bare(text: str) -> str:
    """Normalize a text to case-folded words with single spaces and without punctuation."""
    return " ".join(re.findall(r"\w+", re.sub("['’]", "", text.casefold())))
