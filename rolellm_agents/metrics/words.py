"""How long a text is, and what it is cut into before it is compared."""

import re
from typing import Final

from rolellm_agents.text import whole
from rolellm_agents.text.language import Language

Sentence = list[str]

_SPACED: Final = bytes(byte if chr(byte).isalnum() and byte < 128 else ord(" ") for byte in range(256))
_WORD_OR_CHARACTER = re.compile(r"[a-z0-9]+|[^\W_]")


def word_count(text: str, language: Language) -> int:
    """In English what stands between white space; in Chinese characters, without punctuation and space."""
    return sum(map(str.isalnum, text)) if language == "zh" else len(text.split())


def google_words(text: str) -> list[str]:
    """Runs of a-z and 0-9 in lower case, as `rouge_score` cuts a text when it does not stem."""
    # Cutting takes longer than comparing, and a table of bytes takes half as long as a regular expression.
    return text.lower().encode("ascii", "replace").translate(_SPACED).decode("ascii").split()


def words_and_characters(text: str) -> list[str]:
    """Runs of a-z and 0-9 in lower case, and each other letter or digit alone, such as a Chinese one."""
    return _WORD_OR_CHARACTER.findall(text.lower())


def jieba_words(text: str) -> list[str]:
    """The words of a Chinese text in lower case, without punctuation, as jieba tells them."""
    return [word for word in _segmented(text.lower()) if any(map(str.isalnum, word))]


def spaced_sentences(text: str) -> list[Sentence]:
    """What stands between full stops, cut at white space, as `rouge` 1.0.1 does; marks and case stay.

    Only white space between two full stops is a sentence of one empty word, as it is there.
    """
    return [" ".join(sentence.split()).split(" ") for sentence in text.split(".") if sentence]


def character_sentences(text: str) -> list[Sentence]:
    """What stands between full stops (“.”, not “。”), cut into characters: Chinese for `rouge` 1.0.1."""
    return spaced_sentences(" ".join(text))


def jieba_sentences(text: str) -> list[Sentence]:
    """What stands between full stops (“.”, not “。”), cut into jieba's words; marks stay."""
    return spaced_sentences(" ".join(_segmented(text)))


def _segmented(text: str) -> list[str]:
    # The dictionary takes a moment to load. This is jieba in Rust: the same words, in a twentieth of the
    # time; jieba itself has had no release since 2020, and its code gives SyntaxWarnings.
    import rjieba

    words: list[str] = rjieba.cut(whole(text))
    return words
