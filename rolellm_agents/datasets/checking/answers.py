"""Checks of a single answer."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rolellm_agents.metrics.words import word_count
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import Language, is_in_other_language

_SHORT = 3
_LONG = 512
_SENTENCE = 12
"""Least words of an answer that must end a sentence; lists and headlines, which need not, are shorter."""
_CUT_OFF = re.compile(r"[\w,，、;；]\Z")
_MARK = re.compile(
    r"<\|\w+\|>|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"
    r"|\{\{?[a-z_]{3,30}\}?\}|\[(?:insert|your|role|character)[^\]\n]{0,40}\]"
    r"|^#{2,} ?(?:instruction|response|input|question|answer|指令|回答)\b",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = re.compile(
    r"^(?:human|user|assistant|ai|question|answer|response|completeness|用户|助手|问题|回答)[:：]",
    re.IGNORECASE | re.MULTILINE,
)
"""The label of a turn in a prompt's examples."""


class Violation(NamedTuple):
    """A violated rule, and the words that show it."""

    rule: str
    shown: str


def check_answer(answer: str, role: str, language: Language) -> Iterator[Violation]:
    """The rules that an answer violates. The answer is a reference that is not empty."""
    text = answer.strip()
    if is_in_other_language(text, language):
        yield Violation("wrong-language", text)
    else:
        yield from _check_length(text, word_count(text, language))
    if phrase := ai_talk(text):
        yield Violation("ai-talk", f"“{phrase}” in: {text}")
    if found := _template_mark(text):
        yield Violation("template-leak", f"“{found}” in: {text}")
    if text.startswith(role) and text.removeprefix(role).lstrip()[:1] in (":", "："):
        yield Violation("name-before-answer", text)


def _check_length(text: str, words: int) -> Iterator[Violation]:
    if words <= _SHORT:
        yield Violation("short-answer", text)
    if words > _LONG:
        yield Violation("long-answer", f"{words}: {text}")
    if words >= _SENTENCE and _CUT_OFF.search(text):
        yield Violation("unfinished-answer", f"… {text[-60:]}")


def _template_mark(text: str) -> str | None:
    # Most answers have none of these characters, and finding a character is faster than matching a pattern.
    found = _MARK.search(text) if any(sign in text for sign in "<[{#") else None
    if found is None and (":" in text or "：" in text):
        found = _LABEL.search(text)
    return found.group() if found else None
