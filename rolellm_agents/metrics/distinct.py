"""Diversity of texts: distinct-n (Li et al., arXiv 1510.03055, §5.3)."""

from collections.abc import Iterable

from rolellm_agents.metrics.words import words_and_characters


def distinct_n(texts: Iterable[str], n: int) -> float:
    """The number of distinct n-grams of all texts, divided by the number of n-grams.

    N-grams do not cross texts. Words are runs of Latin letters and digits in lower case, and single Chinese
    characters. The share falls with the amount of text, so compare only equal amounts.

    Args:
        texts: all texts of one speaker, or of one run.
        n: number of words of an n-gram, at least 1.

    Returns:
        A share between 0 and 1; 0 when no text has `n` words.
    """
    runs: list[tuple[str, ...]] = []
    for text in texts:
        words = words_and_characters(text.casefold())
        runs += zip(*(words[start:] for start in range(n)), strict=False)
    return len(set(runs)) / len(runs) if runs else 0.0
