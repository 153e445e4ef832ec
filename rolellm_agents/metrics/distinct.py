"""How varied texts are: distinct-n (Li et al., arXiv 1510.03055, §5.3)."""

from collections.abc import Iterable

from rolellm_agents.metrics.words import words_and_characters


def distinct_n(texts: Iterable[str], n: int) -> float:
    """The share of runs of `n` words, within one text each, that are there only once or for the first time.

    Words are as in RoleBench's scores: what is between spaces, in lower case, and each Chinese character.
    The share falls with the amount of text, so only amounts of one size compare.

    Args:
        texts: all that one speaker, or one run, said.
        n: how many words a run has; at least 1.

    Returns:
        Between 0 and 1; 0 when no text has so many words.
    """
    runs: list[tuple[str, ...]] = []
    for text in texts:
        words = words_and_characters(text.casefold())
        runs += zip(*(words[start:] for start in range(n)), strict=False)
    return len(set(runs)) / len(runs) if runs else 0.0
