"""How long a reply is."""

from rolellm_agents.persona import Language


def word_count(text: str, language: Language) -> int:
    """In English what stands between white space; in Chinese characters, without punctuation and space."""
    return sum(map(str.isalnum, text)) if language == "zh" else len(text.split())
