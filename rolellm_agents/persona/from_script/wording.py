"""Text as tokens that can be counted and put together again, in both languages."""

import re
from collections.abc import Iterator, Sequence

from rolellm_agents.text.language import Language

_ENGLISH_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CLAUSE_END = re.compile(r"[,.;:!?…—–()\"“”\n，。；：！？、（）「」『』]+|--+")
_SENTENCE = re.compile(r"[^.!?…。！？]+[.!?…。！？]*[\"'”’」』)]*\s*")


def words(text: str, language: Language) -> list[str]:
    """The words of a text as they stand, in order; Chinese is segmented."""
    if language == "zh":
        import rjieba

        return [word for word in rjieba.cut(text) if any(character.isalnum() for character in word)]
    return _ENGLISH_WORD.findall(text)


def clauses(text: str) -> Iterator[str]:
    """The stretches between two marks of punctuation."""
    for clause in _CLAUSE_END.split(text):
        if clause.strip():
            yield clause.strip()


def sentences(text: str) -> list[str]:
    """The sentences of a text, marks included."""
    return [found.group().strip() for found in _SENTENCE.finditer(text) if found.group().strip()]


def joined(parts: Sequence[str], language: Language) -> str:
    """Words or sentences put together as the language writes them."""
    return ("" if language == "zh" else " ").join(parts)


def length(text: str, language: Language) -> int:
    """In words; in Chinese in characters, two of which do a word's work."""
    return len(re.findall(r"\w", text)) // 2 if language == "zh" else len(_ENGLISH_WORD.findall(text))


def shortened(text: str, language: Language, most: int) -> str:
    """The first sentences of a text that are together no longer than `most` words; at least one."""
    kept: list[str] = []
    for sentence in sentences(text):
        if kept and length(joined([*kept, sentence], language), language) > most:
            break
        kept.append(sentence)
    return joined(kept, language)


def shortened_front(text: str, language: Language, most: int) -> str:
    """The last sentences of a text that are together no longer than `most` words; at least one."""
    kept: list[str] = []
    for sentence in reversed(sentences(text)):
        if kept and length(joined([sentence, *kept], language), language) > most:
            break
        kept.insert(0, sentence)
    return joined(kept, language)
