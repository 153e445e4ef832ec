"""Word counts, and the tokenizers of the measures."""

import re
from typing import Final

from rolellm_agents.text import replace_surrogates
from rolellm_agents.text.language import Language

Sentence = list[str]

_SPACED: Final = bytes(byte if chr(byte).isalnum() and byte < 128 else ord(" ") for byte in range(256))
_WORD_OR_CHARACTER = re.compile(r"[a-z0-9]+|[^\W_]")


def word_count(text: str, language: Language) -> int:
    """The number of words between white space in English, and of letters and digits in Chinese."""
    return sum(map(str.isalnum, text)) if language == "zh" else len(text.split())


def google_words(text: str) -> list[str]:
    """Runs of a-z and 0-9 in lower case, like the tokenizer of `rouge_score` without stemming."""
    # Tokenizing takes longer than comparing, and a byte table takes half as long as a regular expression.
    return text.lower().encode("ascii", "replace").translate(_SPACED).decode("ascii").split()


def words_and_characters(text: str) -> list[str]:
    """Runs of a-z and 0-9 in lower case, and each other letter or digit, such as a Chinese character."""
    return _WORD_OR_CHARACTER.findall(text.lower())


def jieba_words(text: str) -> list[str]:
    """The words of a Chinese text in lower case, segmented by jieba, without punctuation."""
    return [word for word in _segmented(text.lower()) if any(map(str.isalnum, word))]


def spaced_sentences(text: str) -> list[Sentence]:
    """Sentences between full stops, split at white space as in `rouge` 1.0.1; punctuation and case stay.

    White space alone between two full stops is a sentence of one empty word, as in that package.
    """
    return [" ".join(sentence.split()).split(" ") for sentence in text.split(".") if sentence]


def character_sentences(text: str) -> list[Sentence]:
    """Sentences between full stops (“.”, not “。”), split into characters: Chinese for `rouge` 1.0.1."""
    return spaced_sentences(" ".join(text))


def jieba_sentences(text: str) -> list[Sentence]:
    """Sentences between full stops (“.”, not “。”), split into jieba's words; punctuation is kept."""
    return spaced_sentences(" ".join(_segmented(text)))


def _segmented(text: str) -> list[str]:
    # Imported here because the dictionary takes a moment to load. rjieba is a port of jieba to Rust with
    # the same results in a twentieth of the time. jieba has had no release since 2020 and emits
    # SyntaxWarnings.
    import rjieba

    words: list[str] = rjieba.cut(replace_surrogates(text))
    return words
