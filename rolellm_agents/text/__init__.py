"""Text that comes from outside: make it safe to show, measure it, find what somebody meant to type."""

import difflib
import re
from collections.abc import Iterable

_TERMINAL_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, screen
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC with their payload
    r"|\x1b[@-Z\\-_]"
)
# Everything in C0 and C1 but tab and newline; and the marks that turn the reading direction around.
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Remove terminal sequences and control characters, so that a terminal shows only text.

    What is cut in half (a lone surrogate) becomes U+FFFD, since it cannot be printed at all.
    """
    without_returns = whole(text).replace("\r\n", "\n")
    return CONTROL_CHARACTERS.sub("", _TERMINAL_SEQUENCES.sub("", without_returns))


def whole(text: str) -> str:
    """Put U+FFFD where a character is cut in half (a lone surrogate): such text cannot be written."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str, width: int = 0) -> str:
    """Fold all white space into single spaces; with a `width`, cut there with an ellipsis."""
    folded = " ".join(plain(text).split())
    return folded if not width or len(folded) <= width else folded[: width - 1].rstrip() + "…"


def estimated_tokens(text: str) -> int:
    """A rough count that no tokenizer is needed for: a Chinese character is one, of others four are."""
    chinese = len(re.findall(r"[\u3400-\u9fff]", text))
    return chinese + (len(text) - chinese + 3) // 4


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Name the nearest of `known` in brackets, to stand behind what was not found; or nothing."""
    by_key = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), by_key, n=3, cutoff=0.5)
    if not near:
        near = [key for key in by_key if len(name) > 1 and name.casefold() in key][:3]
    return f" (did you mean {' or '.join(by_key[key] for key in near)}?)" if near else ""
