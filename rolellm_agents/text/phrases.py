"""Phrases in texts: how a text opens, and how often a phrase stands in it."""

import re


def opening(text: str, language: str) -> str:
    """The first three words; in Chinese, where words are not set apart, the first three characters."""
    return bare(text).replace(" ", "")[:3] if language == "zh" else " ".join(bare(text).split()[:3])


def is_heard(phrase: str, reply: str, language: str) -> bool:
    """Whether the words of the phrase stand in the reply, one after the other."""
    return times_heard(phrase, reply, language) > 0


def times_heard(phrase: str, reply: str, language: str) -> int:
    """How often the words of the phrase stand in the reply, one after the other."""
    words, said = bare(phrase), bare(reply)
    if not words:
        return 0
    if language == "zh":
        return said.replace(" ", "").count(words.replace(" ", ""))
    # Each word with spaces of its own, so that what stands twice in a row is counted twice.
    apart = "  "
    return f" {said.replace(' ', apart)} ".count(f" {words.replace(' ', apart)} ")


def bare(text: str) -> str:
    """The words alone, in one case: no punctuation, single spaces."""
    return " ".join(re.findall(r"\w+", re.sub("['’]", "", text.casefold())))
