"""ROUGE: how much two texts, cut into words, have in common (Lin, 2004).

`rouge_n` and `rouge_l` compare whole texts, as Google's `rouge_score` does. `summary_rouge_l` compares
sentence by sentence, as the `rouge` package on PyPI (1.0.1) does, whose recall the published RoleBench
figures are.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from rolellm_agents.metrics.words import Sentence

_GAP = ""


class Rouge(NamedTuple):
    """What a prediction and a reference have in common; each part lies between 0 and 1."""

    precision: float
    """As a part of the prediction."""
    recall: float
    """As a part of the reference."""
    f1: float
    """The harmonic mean of the two."""


_NOTHING = Rouge(0.0, 0.0, 0.0)


def rouge_l(predicted: Sequence[Hashable], expected: Sequence[Hashable]) -> Rouge:
    """The longest common subsequence of two texts' words: the same words in one order, gaps allowed.

    Args:
        predicted: the words of the text that is measured.
        expected: the words of what it may be like.

    Returns:
        Zeros where one has no words.
    """
    return _rouge(LCSseq.similarity(predicted, expected), len(predicted), len(expected))


def rouge_n(predicted: Sequence[str], expected: Sequence[str], n: int) -> Rouge:
    """The runs of `n` words that two texts have in common, each as often as both have it.

    Args:
        predicted: the words of the text that is measured.
        expected: the words of what it may be like.
        n: how many words a run has, at least 1.

    Returns:
        Zeros where one has not so many words.
    """
    return rouge_l(word_runs(predicted, n), word_runs(expected, n))


def word_runs(words: Sequence[str], n: int) -> Sequence[Hashable]:
    """All runs of `n` words in an order that does not depend on the text.

    Of two such sequences the longest common subsequence is what both hold, each run as often as both do, so
    that `rouge_l` of them is ROUGE-N. The runs of several words are given by their hashes.
    """
    if n == 1:
        return sorted(words)
    return sorted(map(hash, zip(*(words[start:] for start in range(n)), strict=False)))


def summary_rouge_l(predicted: Sequence[Sentence], expected: Sequence[Sentence]) -> Rouge:
    """“Summary level” ROUGE-L with the peculiarities of `rouge` 1.0.1.

    The different words of all common subsequences of sentences are counted, each once in the whole text,
    over the different words of a text. Which of several longest subsequences counts is that package's
    choice too. Its F is less than ours by at most 5e-9, since it adds 1e-8 to the divisor.

    Args:
        predicted: the sentences of the text that is measured.
        expected: the sentences of what it may be like.

    Returns:
        Zeros where one has no sentence.
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

    The lengths of the subsequences are found for all predicted sentences at once, a bit for each word
    (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004): a set bit is a word at which the
    subsequence grows. A gap between two sentences takes the carry of the addition.
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

    It goes left in the predicted sentence as long as the length stays, and takes the last word of the
    expected one that matches there.
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
