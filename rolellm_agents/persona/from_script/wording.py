"""Split text into words, clauses and sentences, measure and shorten it, in English and Chinese."""

import re
from collections.abc import Iterator, Sequence

from rolellm_agents.text.language import Language

_ENGLISH_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CLAUSE_END = re.compile(r"[,.;:!?…—–()\"“”\n，。；：！？、（）「」『』]+|--+")
_SENTENCE = re.compile(r"[^.!?…。！？]+[.!?…。！？]*[\"'”’」』)]*\s*")


def words(text: str, language: Language) -> list[str]:
    """The words of a text in order; Chinese is segmented."""
    if language == "zh":
        import rjieba

        return [word for word in rjieba.cut(text) if any(character.isalnum() for character in word)]
    return _ENGLISH_WORD.findall(text)


def clauses(text: str) -> Iterator[str]:
    """The parts of a text between punctuation marks."""
    for clause in _CLAUSE_END.split(text):
        if clause.strip():
            yield clause.strip()


def sentences(text: str) -> list[str]:
    """The sentences of a text with their punctuation."""
    return [found.group().strip() for found in _SENTENCE.finditer(text) if found.group().strip()]


def joined(parts: Sequence[str], language: Language) -> str:
    """Join words or sentences, with blanks in English and without in Chinese."""
    return ("" if language == "zh" else " ").join(parts)


def length(text: str, language: Language) -> int:
    """Length in words; two Chinese characters count as one word."""
    return len(re.findall(r"\w", text)) // 2 if language == "zh" else len(_ENGLISH_WORD.findall(text))


def shortened(text: str, language: Language, most: int) -> str:
    """The first sentences of a text with at most `most` words together; at least one sentence."""
    kept: list[str] = []
    for sentence in sentences(text):
        if kept and length(joined([*kept, sentence], language), language) > most:
            break
        kept.append(sentence)
    return joined(kept, language)


def shortened_front(text: str, language: Language, most: int) -> str:
    """The last sentences of a text with at most `most` words together; at least one sentence."""
    kept: list[str] = []
    for sentence in reversed(sentences(text)):
        if kept and length(joined([sentence, *kept], language), language) > most:
            break
        kept.insert(0, sentence)
    return joined(kept, language)
