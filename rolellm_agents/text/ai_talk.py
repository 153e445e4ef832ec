"""Detect phrases of an AI assistant in a character's text."""

import re

_PHRASES = re.compile(
    r"\bas an ai\b|\bas a (?:large )?language model\b|\blanguage model\b|\bi(?:'m| am) an ai\b"
    r"|\b(?:i'd|i would|i'm|i am) (?:be )?(?:happy|glad|delighted) to (?:help|assist)\b"
    r"|\bi'd be happy to\b"
    r"|\bhow (?:can|may) i (?:assist|help) you\b|\bfeel free to (?:ask|reach)\b|\blet me know if\b"
    r"|\bi hope this helps\b|\bis there anything else\b"
    r"|\bmy (?:training data|knowledge cutoff|programming)\b"
    r"|\bi (?:cannot|can't) (?:assist|help) with that\b|\bin conclusion,"
    r"|\bit(?:'s| is) important to (?:note|remember)\b"
    r"|\A(?:sure|certainly|of course|absolutely|great question)!"
    r"|作为一个?(?:人工智能|语言模型|AI|大模型)|很高兴(?:为您|帮)|有什么(?:我)?可以帮|希望(?:这|以上)对(?:你|您)有"
    r"|我只是一个(?:人工智能|AI|语言模型)",
    re.IGNORECASE,
)


def ai_talk(text: str) -> str | None:
    """The first phrase in `text` that an assistant would say and a character would not, or None."""
    found = _PHRASES.search(text.replace("’", "'").strip())
    return found.group() if found else None
