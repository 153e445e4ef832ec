"""ROUGE: how much two tokenized texts have in common (Lin, 2004).

`rouge_n` and `rouge_l` compare whole texts, like Google's `rouge_score`. `summary_rouge_l` compares
sentence by sentence, like the `rouge` package on PyPI (1.0.1), whose recall reproduces the published
RoleBench figures.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from rolellm_agents.metrics.words import Sentence

_GAP = ""


class Rouge(NamedTuple):
    """Precision, recall and F1 of a prediction; each lies between 0 and 1."""

    precision: float
    """What both texts have in common, as a share of the prediction."""
    recall: float
    """What both texts have in common, as a share of the reference."""
    f1: float
    """The harmonic mean of the two."""


_NOTHING = Rouge(0.0, 0.0, 0.0)


def rouge_l(predicted: Sequence[Hashable], expected: Sequence[Hashable]) -> Rouge:
    """ROUGE-L: the longest common subsequence of two texts' words.

    Args:
        predicted: words of the prediction.
        expected: words of the reference.

    Returns:
        The score; all zeros when one of the texts is empty.
    """
    return _rouge(LCSseq.similarity(predicted, expected), len(predicted), len(expected))


def rouge_n(predicted: Sequence[str], expected: Sequence[str], n: int) -> Rouge:
    """ROUGE-N: the n-grams that two texts have in common, each counted as often as both contain it.

    Args:
        predicted: words of the prediction.
        expected: words of the reference.
        n: number of words of an n-gram, at least 1.

    Returns:
        The score; all zeros when one of the texts has fewer than `n` words.
    """
    return rouge_l(word_runs(predicted, n), word_runs(expected, n))


def word_runs(words: Sequence[str], n: int) -> Sequence[Hashable]:
    """All n-grams, sorted; for `n` > 1 as hashes.

    The longest common subsequence of two sorted sequences is their multiset intersection, so `rouge_l` of
    such sequences is ROUGE-N.
    """
    if n == 1:
        return sorted(words)
    return sorted(map(hash, zip(*(words[start:] for start in range(n)), strict=False)))


def summary_rouge_l(predicted: Sequence[Sentence], expected: Sequence[Sentence]) -> Rouge:
    """“Summary level” ROUGE-L with the peculiarities of `rouge` 1.0.1.

    The score is the number of distinct words in all common subsequences of sentences, divided by the number
    of distinct words of a text. Among several longest subsequences it chooses the same one as that package.
    The package's F1 is lower by at most 5e-9, since it adds 1e-8 to the divisor.

    Args:
        predicted: sentences of the prediction.
        expected: sentences of the reference.

    Returns:
        The score; all zeros when one of the texts has no sentence.
    """
    common = _words_in_common(predicted, expected)
    return _rouge(len(common), len(set().union(*predicted)), len(set().union(*expected)))


def _rouge(common: int, predicted: int, expected: int) -> Rouge:
    if not common:
        return _NOTHING
    precision, recall = common / predicted, common / expected
    return Rouge(precision, recall, 2 * precision * recall / (precision + recall))


def _words_in_common(predicted: Sequence[Sentence], expected: Sequence[Sentence]) -> set[str]:
    """The words of a longest common subsequence of each predicted and each expected sentence.

    The lengths are computed for all predicted sentences at once, with one bit for each word (Hyyrö,
    "Bit-parallel LCS-length computation revisited", 2004). A set bit is a word at which the subsequence
    grows. A gap between two sentences absorbs the carry of the addition.
    """
    columns: list[str] = []
    places: defaultdict[str, int] = defaultdict(int)
    spans: list[int] = []
    for sentence in predicted:
        first = len(columns)
        for word in sentence:
            places[word] |= 1 << len(columns)
            columns.append(word)
        spans.append((1 << len(columns)) - (1 << first))
        columns.append(_GAP)
    everywhere = sum(spans)

    common: set[str] = set()
    for sentence in expected:
        rows, idle = [0], everywhere
        for word in sentence:
            if matched := idle & places.get(word, 0):
                idle = ((idle + matched) | (idle - matched)) & everywhere
            rows.append(everywhere ^ idle)
        for span in spans:
            common.update(_traced(sentence, columns, rows, span))
    return common


def _traced(sentence: Sentence, columns: list[str], rows: list[int], within: int) -> Iterable[str]:
    """The words of the subsequence that `rouge` 1.0.1 traces back from the ends of two sentences.

    The trace moves left in the predicted sentence while the length stays the same, and then takes the last
    matching word of the expected sentence.
    """
    row = len(sentence)
    while growing := rows[row] & within:
        column = growing.bit_length() - 1
        word = columns[column]
        while sentence[row - 1] != word:
            row -= 1
        row -= 1
        within &= (1 << column) - 1
        yield word
