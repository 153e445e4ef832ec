"""An answer as it is kept: without what a model puts around its words, and with what made it."""

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
"""Words, or Chinese characters, that an answer has which is worth keeping without its end."""


@dataclass(frozen=True)
class TrimmedAnswer:
    """An answer that ends with a sentence, as far as it can."""

    text: str
    label: Label | None
    """`shortened` when half a sentence was taken away, `unfinished` when nothing whole is left."""
    taken: str
    """The half sentence."""


def ended(text: str, *, at_limit: bool) -> TrimmedAnswer:
    """Take away the sentence that an answer was in when it reached its limit.

    Args:
        text: the answer.
        at_limit: whether it reached its limit; else it ends as its model wanted it to.
    """
    if not at_limit or _ENDED.search(text):
        return TrimmedAnswer(text, None, "")
    *kept, last = sentences_of(text) or [""]
    whole = "".join(kept).strip()
    if len(units_of(whole)) < _FEWEST:
        return TrimmedAnswer(text, "unfinished", "")
    return TrimmedAnswer(whole, "shortened", last.strip())


def cleaned(text: str, persona: Persona) -> str:
    """The words alone: no name before them, no quotation marks around the whole, no space at the ends."""
    words = plain(text).strip()
    words = re.sub(
        rf"\A\W{{0,3}}{re.escape(persona.name)}\W{{0,3}}[:：]\W{{0,2}}\s", "", f"{words} "
    ).strip()
    quoted = _QUOTED.match(words)
    return next((inner for inner in quoted.groups() if inner), words).strip() if quoted else words


def prompts_of(strategy: str, language: Language) -> list[Prompt]:
    """The texts that a strategy's messages are made of, beside the persona's own."""
    return [load_prompt(name, language) for name in _TEXTS[strategy]]
