"""ROUGE-L: how long a run of words, gaps allowed, two texts have in common (Lin, 2004).

`rouge_l` compares whole texts, as Google's `rouge_score` does. `summary_rouge_l` compares sentence by
sentence, as the `rouge` package on PyPI (1.0.1) does, whose recall the published RoleBench figures are.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import LCSseq

Criterion = Literal["precision", "recall", "f1"]
Sentence = list[str]

_SPACED = bytes(byte if chr(byte).isalnum() and byte < 128 else ord(" ") for byte in range(256))
_WORD_OR_CHARACTER = re.compile(r"[a-z0-9]+|[^\W_]")
_GAP = ""


@dataclass(frozen=True, slots=True)
class RougeL:
    """What a prediction and a reference have in common; each part lies between 0 and 1."""

    precision: float
    """As a part of the prediction."""
    recall: float
    """As a part of the reference."""
    f1: float
    """The harmonic mean of the two."""


_NOTHING = RougeL(0.0, 0.0, 0.0)


def rouge_l(
    prediction: str,
    references: Sequence[str],
    words: Callable[[str], Sequence[str]],
    best: Criterion = "f1",
) -> RougeL:
    """Compare a prediction with each reference, as one run of words, and take the best.

    Args:
        prediction: the text that is measured.
        references: at least one text it may be like.
        words: cuts a text into what is compared.
        best: what the best reference has most of; of equals the first is taken.

    Returns:
        The scores against that reference; zeros where a text has no words.

    Raises:
        ValueError: there is no reference.
    """
    predicted = words(prediction)
    return _best((_of_words(predicted, words(reference)) for reference in references), best)


def summary_rouge_l(
    prediction: str,
    references: Sequence[str],
    sentences: Callable[[str], Sequence[Sentence]],
    best: Criterion = "recall",
) -> RougeL:
    """Compare the sentences of a prediction with those of each reference, and take the best.

    This is “summary level” ROUGE-L with the peculiarities of `rouge` 1.0.1: the different words of all
    common subsequences are counted, each once in the whole text, over the different words of a text. Which
    of several longest subsequences counts is that package's choice too. Its F is less than ours by at most
    5e-9, since it adds 1e-8 to the divisor.

    Args:
        prediction: the text that is measured.
        references: at least one text it may be like.
        sentences: cuts a text into sentences and those into what is compared.
        best: what the best reference has most of; of equals the first is taken.

    Returns:
        The scores against that reference; zeros where a text has no sentence.

    Raises:
        ValueError: there is no reference.
    """
    predicted = sentences(prediction)
    return _best((_of_sentences(predicted, sentences(reference)) for reference in references), best)


def google_words(text: str) -> list[str]:
    """Runs of a-z and 0-9 in lower case, as `rouge_score` cuts a text when it does not stem."""
    # Cutting takes longer than comparing, and a table of bytes takes half as long as a regular expression.
    return text.lower().encode("ascii", "replace").translate(_SPACED).decode("ascii").split()


def words_and_characters(text: str) -> list[str]:
    """Runs of a-z and 0-9 in lower case, and each other letter or digit alone, such as a Chinese one."""
    return _WORD_OR_CHARACTER.findall(text.lower())


def spaced_sentences(text: str) -> list[Sentence]:
    """What stands between full stops, cut at white space, as `rouge` 1.0.1 does; marks and case stay.

    Only white space between two full stops is a sentence of one empty word, as it is there.
    """
    return [" ".join(sentence.split()).split(" ") for sentence in text.split(".") if sentence]


def character_sentences(text: str) -> list[Sentence]:
    """What stands between full stops (“.”, not “。”), cut into characters: Chinese for `rouge` 1.0.1."""
    return spaced_sentences(" ".join(text))


def _best(scores: Iterable[RougeL], criterion: Criterion) -> RougeL:
    return max(scores, key=lambda score: float(getattr(score, criterion)))


def _of_words(predicted: Sequence[str], expected: Sequence[str]) -> RougeL:
    return _rouge_l(LCSseq.similarity(predicted, expected), len(predicted), len(expected))


def _of_sentences(predicted: Sequence[Sentence], expected: Sequence[Sentence]) -> RougeL:
    common = _words_in_common(predicted, expected)
    return _rouge_l(len(common), len(set().union(*predicted)), len(set().union(*expected)))


def _rouge_l(common: int, predicted: int, expected: int) -> RougeL:
    if not common:
        return _NOTHING
    precision, recall = common / predicted, common / expected
    return RougeL(precision, recall, 2 * precision * recall / (precision + recall))


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
