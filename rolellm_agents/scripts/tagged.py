"""Read plays in XML: Jon Bosak's PLAY mark-up, and TEI drama."""

import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from rolellm_agents.errors import ScriptError
from rolellm_agents.scripts.headings import short_heading
from rolellm_agents.scripts.script import Script, ScriptPassage
from rolellm_agents.text.language import language_of

_DIVISIONS = {"act", "scene", "div", "div1", "div2", "div3", "prologue", "epilogue", "induction"}
_SPOKEN = {"line", "l", "p", "ab", "lg", "seg", "q"}
_DIRECTIONS = {"stagedir", "stage", "note", "speaker"}


def is_tagged(text: str) -> bool:
    """Whether a text looks like one of the two mark-ups."""
    return bool(re.search(r"<(?:\w+:)?(?:SPEECH|sp)\b", text[:200_000], re.IGNORECASE))


def read_tagged(text: str, name: str) -> Script:
    """Read a tagged play.

    Args:
        text: the XML.
        name: the file's name, for messages, and as the title of a play without one.

    Raises:
        ScriptError: the XML is damaged, or declares entities.
    """
    try:
        # The XML declaration names the encoding of the bytes, which are decoded already.
        root = fromstring(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text), forbid_dtd=False)
    except ParseError as error:
        raise ScriptError(f"{name} is damaged XML ({error}); repair it, or use plain text.") from error
    except DefusedXmlException as error:
        raise ScriptError(f"{name} declares XML entities, which are not read; remove them.") from error
    passages = tuple(_TaggedReader().read(root))
    return Script(
        title=_title(root) or name,
        kind="tagged play",
        language=language_of("".join(passage.speech for passage in passages)),
        passages=passages,
        cast=dict(_cast(root)),
    )


class _TaggedReader:
    """Reads the divisions recursively, and counts scenes and speeches."""

    def __init__(self) -> None:
        self._scene = -1
        self._number = 0

    def read(self, node: Element, headings: tuple[str, ...] = ()) -> Iterator[ScriptPassage]:
        for child in node:
            tag = _tag(child)
            if tag in _DIVISIONS:
                heading = _heading(child)
                yield from self._division(child, (*headings, heading) if heading else headings)
            elif tag in {"speech", "sp"}:
                yield from self._speech(child, headings)
            elif tag in {"stagedir", "stage"}:
                yield ScriptPassage(_text(child), self._place(headings), max(self._scene, 0))
            elif tag not in {"personae", "castlist", "teiheader"}:
                yield from self.read(child, headings)

    def _division(self, node: Element, headings: tuple[str, ...]) -> Iterator[ScriptPassage]:
        if not any(_tag(child) in _DIVISIONS for child in node):
            self._scene += 1
        yield from self.read(node, headings)

    def _speech(self, node: Element, headings: tuple[str, ...]) -> Iterator[ScriptPassage]:
        self._number += 1
        names = [_text(child) for child in node if _tag(child) == "speaker"]
        speech = " ".join(filter(None, (_text(part) for part in _spoken(node))))
        # A speech of several speakers gives one passage for each of them.
        for speaker in names or [""]:
            yield ScriptPassage(
                text=f"{speaker}: {speech}",
                place=self._place(headings),
                scene=max(self._scene, 0),
                speaker=_clean_name(speaker),
                speech=speech,
                certainty="named" if speaker else "none",
            )

    def _place(self, headings: tuple[str, ...]) -> str:
        return ", ".join([*headings, f"speech {self._number}"])


def _spoken(node: Element) -> Iterator[Element]:
    """The innermost spoken elements outside stage directions."""
    for child in node:
        tag = _tag(child)
        if tag in _DIRECTIONS:
            continue
        if tag in _SPOKEN and not any(
            _tag(inner) in _SPOKEN for inner in child.iter() if inner is not child
        ):
            yield child
        else:
            yield from _spoken(child)


def _text(node: Element) -> str:
    """The text of a node without its stage directions."""
    parts = [node.text or ""]
    for child in node:
        if _tag(child) not in _DIRECTIONS:
            parts.append(_text(child))
        parts.append(child.tail or "")
    return " ".join(" ".join(parts).split())


def _tag(node: Any) -> str:
    # Comments and processing instructions have a function as their tag.
    return node.tag.rpartition("}")[2].lower() if isinstance(node.tag, str) else ""


def _heading(node: Element) -> str:
    for child in node:
        if _tag(child) in {"title", "head"}:
            return short_heading(_text(child))
    return ""


def _title(root: Element) -> str:
    for node in root.iter():
        if _tag(node) == "title":
            return _text(node)
    return ""


def _clean_name(name: str) -> str:
    return name.strip().rstrip(".:").strip()


def _cast(root: Element) -> Iterator[tuple[str, str]]:
    """The names and descriptions in the list of persons."""
    for node in root.iter():
        group = " ".join(_text(child) for child in node if _tag(child) in {"grpdescr", "roledesc"})
        if group:
            group = (
                f"one of {group}"
                if re.match("his|her|their|the|two|three", group)
                else f"one of the {group}"
            )
        for child in node:
            if _tag(child) in {"persona", "castitem"}:
                name, _, who = _text(child).partition(",")
                yield _clean_name(name), (who or group).strip().rstrip(".")
