"""Reasons why lorebook entries are active or not, with explanations for users."""

from dataclasses import dataclass
from typing import Literal, get_args

Why = Literal[
    "disabled",
    "filtered",
    "trigger",
    "delay",
    "cooldown",
    "dont_activate",
    "matched_before",
    "condition",
    "recursion_only",
    "not_by_recursion",
    "condition_keys",
    "no_key",
    "bad_regex",
    "regex_limit",
    "regex_timeout",
    "secondary_keys",
    "group",
    "probability",
    "budget",
    "key",
    "constant",
    "sticky",
    "kept",
    "activate",
]
"""Reasons of inactive entries come first, in the order of the checks."""

_IN_ORDER: tuple[Why, ...] = get_args(Why)
ACTIVE: frozenset[Why] = frozenset(_IN_ORDER[_IN_ORDER.index("key") :])
"""Reasons of active entries."""


def is_closer(why: Why, than: Why) -> bool:
    """Whether a reason is closer to being active than another, by the order of the checks."""
    return _IN_ORDER.index(why) > _IN_ORDER.index(than)


_SENTENCES: dict[Why, str] = {
    "disabled": "it is switched off",
    "filtered": "it is for other characters",
    "trigger": "it is for other kinds of generation",
    "delay": "the chat has too few messages for it yet",
    "cooldown": "it was active a short time ago and must wait",
    "dont_activate": "its decorator @@dont_activate forbids it",
    "matched_before": "it was active once, and its decorator allows no second time",
    "condition": "a condition of its decorators is not met",
    "recursion_only": "only other entries' content may activate it, and none did",
    "not_by_recursion": "other entries' content may not activate it",
    "condition_keys": "its decorators require other keys, or the absence of keys",
    "no_key": "none of its keys was found",
    "bad_regex": "none of its keys was found, and {key} is no valid regular expression",
    "regex_limit": "none of its keys was found, and {key} was not searched, since the lorebooks have too "
    "many regular expressions",
    "regex_timeout": "none of its keys was found, and the time ran out for {key}",
    "secondary_keys": "its key {key} was found, but its secondary keys decide against it",
    "group": "another entry of its group was chosen",
    "probability": "its probability decided against it",
    "budget": "there was no room left for its {tokens} tokens",
    "key": "its key {key} was found",
    "constant": "it always is",
    "sticky": "it stays so for some messages",
    "kept": "it was active once, and its decorator keeps it so",
    "activate": "its decorator @@activate says so",
}


@dataclass(frozen=True)
class LoreTrace:
    """Why one entry is active or not."""

    book: str
    uid: str
    name: str
    active: bool
    why: Why
    key: str = ""
    """The decisive key, with macros replaced."""
    message: int | None = None
    """The index of the message with the key; None for other texts."""
    round: int = 0
    """0 for the chat, from 1 for rounds of recursion."""
    tokens: int = 0

    def sentence(self) -> str:
        """The reason as an English sentence."""
        reason = _SENTENCES[self.why].format(key=f"“{self.key}”", tokens=f"{self.tokens:,}")
        if self.why == "key":
            reason += self._place()
        return f"“{self.name or self.uid}” is {'active' if self.active else 'not active'}: {reason}."

    def _place(self) -> str:
        if self.message is not None:
            return f" in message {self.message + 1}"
        return (
            f" in another entry's content (round {self.round})"
            if self.round
            else " in a text outside the chat"
        )
