"""What can be wrong with one answer, seen alone."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rolellm_agents.metrics.words import word_count
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import Language, is_in_other_language

_SHORT = 3
_LONG = 512
_SENTENCE = 12
"""A list or a headline needs no full stop, and has rarely so many words."""
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
"""What stands before a turn in a prompt's examples."""


class Wrong(NamedTuple):
    """A rule that is broken, and the words that show it."""

    rule: str
    shown: str


def check_answer(answer: str, role: str, language: Language) -> Iterator[Wrong]:
    """The rules that an answer breaks; it is not empty.

    Args:
        answer: a reference.
        role: whose answer it is.
        language: that the role speaks.
    """
    text = answer.strip()
    if is_in_other_language(text, language):
        yield Wrong("wrong-language", text)
    else:
        yield from _check_length(text, word_count(text, language))
    if phrase := ai_talk(text):
        yield Wrong("ai-talk", f"“{phrase}” in: {text}")
    if found := _template_mark(text):
        yield Wrong("template-leak", f"“{found}” in: {text}")
    if text.startswith(role) and text.removeprefix(role).lstrip()[:1] in (":", "："):
        yield Wrong("name-before-answer", text)


def _check_length(text: str, words: int) -> Iterator[Wrong]:
    if words <= _SHORT:
        yield Wrong("short-answer", text)
    if words > _LONG:
        yield Wrong("long-answer", f"{words}: {text}")
    if words >= _SENTENCE and _CUT_OFF.search(text):
        yield Wrong("unfinished-answer", f"… {text[-60:]}")


def _template_mark(text: str) -> str | None:
    # Most answers have none of these signs, and looking for a sign is much quicker than for a pattern.
    found = _MARK.search(text) if any(sign in text for sign in "<[{#") else None
    if found is None and (":" in text or "：" in text):
        found = _LABEL.search(text)
    return found.group() if found else None
