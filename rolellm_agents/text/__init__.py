"""Functions for untrusted text: make it safe to display, estimate its tokens, suggest corrections."""

import difflib
import re
from collections.abc import Iterable

from rolellm_agents.text.invisible import INVISIBLE, LONGEST_CONTEXT, undecided_from, without_invisible

_TERMINAL_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, screen
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC with their payload
    r"|\x1b[@-Z\\-_]"
)
# All of C0 and C1 except tab and newline, and the marks that change the reading direction.
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Remove terminal sequences, control characters and invisible ones, so that a terminal shows only text.

    Invisible characters that scripts and emoji need stay. Lone surrogates, which cannot be printed, become
    U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text  # as nearly every line of English is
    return without_invisible(_without_controls(text))


class PlainStream:
    """Makes a text plain whose parts arrive one after the other; a part may end within an emoji."""

    def __init__(self) -> None:
        self._before = ""
        self._held = ""

    def more(self, part: str) -> str:
        """What can be shown after the next part."""
        text = self._held + _without_controls(part)
        end = undecided_from(text)
        self._held = text[end:]
        return self._shown(text[:end])

    def rest(self) -> str:
        """What can be shown at the end of the text."""
        held, self._held = self._held, ""
        return self._shown(held)

    def _shown(self, text: str) -> str:
        shown = without_invisible(text, self._before)
        self._before = (self._before + shown)[-LONGEST_CONTEXT:]
        return shown


def json_escaped(json_text: str) -> str:
    """JSON with control characters and invisible ones escaped, so that a terminal can show it."""
    without = CONTROL_CHARACTERS.sub(_escape, replace_surrogates(json_text))
    return INVISIBLE.sub(_escape, without)


def _escape(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _without_controls(text: str) -> str:
    without_returns = replace_surrogates(text).replace("\r\n", "\n")
    return CONTROL_CHARACTERS.sub("", _TERMINAL_SEQUENCES.sub("", without_returns))


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str, width: int = 0) -> str:
    """Collapse white space into single spaces, and shorten to `width` characters with an ellipsis."""
    folded = " ".join(plain(text).split())
    return folded if not width or len(folded) <= width else folded[: width - 1].rstrip() + "…"


def estimated_tokens(text: str) -> int:
    """Approximate number of tokens: one for each Chinese character, one for four other characters."""
    chinese = len(re.findall(r"[\u3400-\u9fff]", text))
    return chinese + (len(text) - chinese + 3) // 4


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A suggestion in brackets with the names of `known` nearest to `name`; empty if none is near."""
    by_key = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), by_key, n=3, cutoff=0.5)
    if not near:
        near = [key for key in by_key if len(name) > 1 and name.casefold() in key][:3]
    return f" (did you mean {' or '.join(by_key[key] for key in near)}?)" if near else ""
