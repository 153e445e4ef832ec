"""Clean and trim a model's answers, and list the prompts of RoleGPT's strategies."""

import re
from dataclasses import dataclass
from typing import Final

from rolellm_agents.generation.segments import sentences_of
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.prompts import Prompt, load_prompt
from rolellm_agents.reply_checks.labels import Label
from rolellm_agents.text import plain
from rolellm_agents.text.language import Language
from rolellm_agents.text.near_copies import units_of

ROLEGPT_STRATEGIES: Final = ("zero-shot", "few-shot-prompt", "few-shot-dialogue")
"""RoleGPT's three ways of prompting."""
_TEXTS: Final = {
    "zero-shot": ("custom-instruction", "catchphrases"),
    "few-shot-prompt": ("custom-instruction", "catchphrases", "example", "examples"),
    "few-shot-dialogue": ("custom-instruction", "catchphrases"),
}
_QUOTED = re.compile(r"\A(?:\"([^\"]*)\"|“([^”]*)”|「([^」]*)」)\Z", re.DOTALL)


_ENDED = re.compile(r"[.!?…。！？][\"'”’」』）)*]*\s*\Z")
_FEWEST = 5
"""Minimum number of words, or Chinese characters, of an answer that is kept without its last sentence."""


@dataclass(frozen=True)
class TrimmedAnswer:
    """An answer that was trimmed to end with a complete sentence if possible."""

    text: str
    label: Label | None
    """`shortened` when an incomplete sentence was removed, `unfinished` when too little would remain."""
    taken: str
    """The removed sentence."""


def trim_to_last_sentence(text: str, *, at_limit: bool) -> TrimmedAnswer:
    """Remove the incomplete last sentence of an answer that reached the token limit.

    Args:
        text: the answer.
        at_limit: whether the answer reached the token limit; other answers are not changed.
    """
    if not at_limit or _ENDED.search(text):
        return TrimmedAnswer(text, None, "")
    *kept, last = sentences_of(text) or [""]
    complete = "".join(kept).strip()
    if len(units_of(complete)) < _FEWEST:
        return TrimmedAnswer(text, "unfinished", "")
    return TrimmedAnswer(complete, "shortened", last.strip())


def cleaned(text: str, persona: Persona) -> str:
    """Strip the character's name before an answer, quotation marks around it, and outer white space."""
    words = plain(text).strip()
    words = re.sub(
        rf"\A\W{{0,3}}{re.escape(persona.name)}\W{{0,3}}[:：]\W{{0,2}}\s", "", f"{words} "
    ).strip()
    quoted = _QUOTED.match(words)
    return next((inner for inner in quoted.groups() if inner), words).strip() if quoted else words


def prompts_of(strategy: str, language: Language) -> list[Prompt]:
    """The prompts that a strategy's messages are built from."""
    return [load_prompt(name, language) for name in _TEXTS[strategy]]
