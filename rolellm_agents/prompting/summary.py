"""Summaries of what no longer fits into a prompt, for scenes and for conversations."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.text.language import Language

SUMMARY_TOKENS = 200
"""Limit of a summary in tokens; its prompt requests a hundred words."""


def summary_prompt(name: str, lines: Sequence[str], before: str, language: Language) -> list[BaseMessage]:
    """The messages that ask a model for a summary.

    Args:
        name: the character that is to remember it.
        lines: what the character saw and heard.
        before: the summary of what came before; empty if there is none.
        language: the language of the summary.
    """
    earlier = f"{remembered(name, before, language)}\n\n" if before else ""
    text = load_prompt("scene-summary", language).fill(name=name, before=earlier, lines="\n".join(lines))
    return [HumanMessage(text)]


def remembered(name: str, summary: str, language: Language) -> str:
    """The sentence with which a prompt presents a summary."""
    return load_prompt("scene-summary-before", language).fill(name=name, text=summary)


def lines_to_cover(sizes: Sequence[int], room: int, *, before: int = 0) -> int:
    """How many of the oldest lines a new summary covers, so that the rest takes half of the room at most.

    Half, because each summary changes the beginning of the prompt and invalidates the prompt cache.

    Args:
        sizes: the tokens of each line.
        room: the most tokens of all lines.
        before: the tokens of the summary so far.
    """
    size, covered = sum(sizes) + before, 0
    while size > room // 2 and covered < len(sizes) - 1:
        size -= sizes[covered]
        covered += 1
    return covered
