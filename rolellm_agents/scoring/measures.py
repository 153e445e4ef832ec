"""The measures of a reply against references, by the names a person asks for them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from rolellm_agents.persona import Language
from rolellm_agents.scoring.rouge import (
    character_sentences,
    google_words,
    rouge_l,
    spaced_sentences,
    summary_rouge_l,
    words_and_characters,
)

Measure = Callable[[str, Sequence[str], Language], float]
"""From a reply, its references (at least one) and their language to a score between 0 and 1."""


def rouge_l_f1(reply: str, references: Sequence[str], language: Language) -> float:
    """F1 of ROUGE-L against the nearest reference; in English exactly that of `rouge_score`.

    Chinese is compared character by character, without punctuation. Words that fit no reference lower it.

    Raises:
        ValueError: there is no reference.
    """
    words = words_and_characters if language == "zh" else google_words
    return rouge_l(reply, references, words, "f1").f1


def paper_recall(reply: str, references: Sequence[str], language: Language) -> float:
    """Recall of ROUGE-L as the published RoleBench figures were found to be computed: by `rouge` 1.0.1.

    Chinese is compared character by character. Words that fit no reference cost nothing, so that a longer
    reply usually scores higher; it is there to be laid beside the paper's figures.

    Raises:
        ValueError: there is no reference.
    """
    sentences = character_sentences if language == "zh" else spaced_sentences
    return summary_rouge_l(reply, references, sentences, "recall").recall


MEASURES: Mapping[str, Measure] = MappingProxyType({"rouge-l-f1": rouge_l_f1, "paper": paper_recall})
