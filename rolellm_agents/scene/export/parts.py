"""Split a line into speech, actions and stressed words."""

import re
from typing import Literal, NamedTuple

from rolellm_agents.scene.names import HAN
from rolellm_agents.text import plain

STRESSED, UNSTRESSED = "\ue000", "\ue001"
"""Enclose stressed words until a writer replaces them with its own markup."""
THOUGHT, UNTHOUGHT = "\ue002", "\ue003"
"""Enclose thoughts."""

_SIGNS = re.compile(f"[{STRESSED}-{UNTHOUGHT}]")
_GROUP = re.compile(
    r"(?P<stars>\*{1,3})(?=[^\s*])(?P<starred>[^*]+?)(?<=\S)(?P=stars)(?!\*)"
    r"|(?<![\w_])_(?=[^\s_])(?P<underscored>[^_\n]+?)(?<=\S)_(?![\w_])"
    r"|\((?P<bracketed>[^()\n]+)\)|（(?P<wide>[^（）\n]+)）"
)
_BETWEEN_SENTENCES = re.compile(r"""(?:^|[.!?…。！？；;:：—\n"”’」』)）])\s*\Z""")
_GOES_ON = re.compile(rf"[ \t]*[a-z,.;:!?…，。！？；：、{HAN}]")
_AROUND = 80
"""Characters of context on both sides that decide what a group in asterisks is."""
_MOST_STRESSED = 4
"""Words. A longer group in asterisks is an action."""
_NEVER = re.compile(r"(?!)")
_BLANKS = re.compile(r"[ \t]+")
_LINES = re.compile(r"\s*\n\s*")


class Part(NamedTuple):
    """A part of a line: spoken words or an action."""

    kind: Literal["said", "done"]
    text: str
    """`STRESSED` and `UNSTRESSED` enclose stressed words."""


def clean(text: str) -> str:
    """Collapse blanks and line breaks, and remove control characters and the markers of this module."""
    lines = _LINES.sub("\n", _SIGNS.sub("", plain(text)).strip())
    return _BLANKS.sub(" ", lines)


def parts_of(text: str) -> list[Part]:
    """The parts of a line in order; none is empty.

    Asterisks, or brackets at the end of a sentence, enclose an action. A few words in asterisks in the
    middle of a sentence are stressed.
    """
    cleaned = clean(text)
    parts: list[Part] = []
    said, place = "", 0
    for found in _GROUP.finditer(cleaned):
        said += cleaned[place : found.start()]
        place = found.end()
        inside = next(
            group for group in found.group("starred", "underscored", "bracketed", "wide") if group
        )
        role = _role(found, said[-_AROUND:], cleaned[place : place + _AROUND])
        if role == "done":
            parts += _parts("said", said)
            parts += _parts("done", inside.replace("\n", " "))
            said = ""
        else:
            said += f"{STRESSED}{inside}{UNSTRESSED}" if role == "stressed" else found.group()
    return [*parts, *_parts("said", said + cleaned[place:])]


def without_marks(text: str) -> str:
    """A text without asterisks and underscores, for actions and thoughts, which are not split."""
    return _GROUP.sub(_opened, clean(text)).replace("*", "").strip()


def split_first_sentence(
    text: str, ends: re.Pattern[str], most: int, continues: re.Pattern[str] = _NEVER
) -> tuple[str, str]:
    """The first sentence and the rest; the whole text and "" when there is no rest or the sentence is long.

    Args:
        text: the spoken words.
        ends: matches the end of a sentence and the blanks after it.
        most: the most characters of a first sentence.
        continues: matches an end that is not the end of a sentence, for example “Mr.”
    """
    for found in ends.finditer(text):
        first = text[: found.end()].rstrip()
        if len(first) > most or found.end() == len(text):
            break
        if first.count(STRESSED) == first.count(UNSTRESSED) and not continues.search(first):
            return first, text[found.end() :].lstrip()
    return text, ""


def _parts(kind: Literal["said", "done"], text: str) -> list[Part]:
    words = text.strip()
    return [Part(kind, words)] if re.search(r"\w", words) or (kind == "said" and words) else []


def _role(found: "re.Match[str]", before: str, after: str) -> Literal["done", "stressed", "said"]:
    between = _BETWEEN_SENTENCES.search(before)
    if found["bracketed"] or found["wide"]:
        return "done" if between or not after.strip() else "said"
    if found["underscored"]:
        return "stressed"
    continues = _GOES_ON.match(after)
    if between and not (found["starred"][0].isupper() and continues):
        return "done"
    few = len(found["starred"].split()) <= _MOST_STRESSED and "\n" not in found["starred"]
    return "stressed" if few and (continues or after) else "done"


def _opened(found: "re.Match[str]") -> str:
    return (
        found.group() if found["bracketed"] or found["wide"] else found["starred"] or found["underscored"]
    )
