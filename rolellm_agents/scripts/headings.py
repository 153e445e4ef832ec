"""Headings of a text: acts, scenes, chapters, and the scene headings of a screenplay."""

import re

_NUMBERED = re.compile(
    r"(?P<word>act|scene|prologue|epilogue|induction|chapter|book|part|volume|letter)\b[\s.:]*"
    r"(?P<number>[ivxlcdm]+\b|\d+\b|(?:the\s+)?(?:first|second|third|fourth|fifth|last)\b|"
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)?",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"第[一二三四五六七八九十百零〇两\d]+[幕场回章节折出卷]")
_SLUG = re.compile(r"(?:INT|EXT|INT\s*\./\s*EXT|EXT\s*\./\s*INT|I/E|EST)[./\s]+\S")
_CUT = re.compile(r"(?:FADE (?:IN|OUT|TO)|CUT TO|DISSOLVE TO|SMASH CUT|THE END|CONTINUED)\b")
_LONGEST = 90


def is_heading(line: str) -> bool:
    """Whether a line is a heading, for example “ACT I”, “Chapter 3.”, “INT. KITCHEN - DAY” or “第二场”."""
    line = line.strip()
    if not line or len(line) > _LONGEST:
        return False
    found = _NUMBERED.match(line)
    # The word must stand alone or before a number: “Act on it!” is not a heading.
    if found and line[0].isupper() and (found["number"] or found.end() == len(line.rstrip(".:"))):
        return True
    return bool(_SLUG.match(line) or _CHINESE.match(line))


def is_cut(line: str) -> bool:
    """Whether a line is a transition of a screenplay, such as “CUT TO:”."""
    return bool(_CUT.match(line.strip()))


def short_heading(line: str) -> str:
    """A short form of a heading for a passage's place: “Act III”, “Chapter 3”, or the truncated line."""
    line = " ".join(line.split())
    if chinese := _CHINESE.match(line):
        return chinese.group()
    found = _NUMBERED.match(line)
    if found and found["number"]:
        number = found["number"]
        shown = number.upper() if re.fullmatch("[ivxlcdmIVXLCDM]+|\\d+", number) else number.lower()
        return f"{found['word'].capitalize()} {shown}"
    return line[:40].rstrip(" .:")


def level(heading: str) -> int:
    """The level of a heading: 0 for a book or act, 1 for a chapter or scene."""
    words = ("act", "book", "part", "volume", "induction", "prologue", "epilogue")
    is_upper = heading.casefold().startswith(words) or re.match("第.+[幕卷]", heading)
    return 0 if is_upper else 1
