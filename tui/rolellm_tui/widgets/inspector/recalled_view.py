"""Recalled items of an answer, with source, reason and text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from rolellm_agents.cards.values import integer, items, mapping, number, text
from rolellm_agents.persona import Persona
from rolellm_agents.recall import RecalledItem, knowledge_of
from rolellm_agents.text import one_line, plain
from rolellm_tui.widgets.inspector.silent_lore import SilentLore

_MOST = 200
"""Maximum number of listed inactive entries."""
_NOTHING = "Nothing was recalled: no retrieval, or nothing above the relevance floor."
_NOT_KNOWN = (
    "It is unknown why the other entries stayed inactive: something outside this prompt had an "
    "part in it, such as an entry that stays active for some messages, or another lorebook."
)
_HEADINGS = {
    "lore": "Active lore",
    "recalled lore": "Recalled lore",
    "knowledge": "Knowledge",
    "memory": "Memories of earlier conversations",
    "passage": "Passages",
    "demonstration": "Demonstrations",
}
"""Headings in display order."""

Item = RecalledItem | Mapping[str, Any]
"""A recalled item, or its record in a transcript, which lacks most of the text and is untrusted."""


class RecalledView(VerticalScroll, can_focus=True):
    """Shows one section for each kind."""

    DEFAULT_CSS = """
    RecalledView Static, RecalledView Vertical { height: auto; }
    """
    BINDINGS = [
        Binding("down", "scroll_down", "Down", id="recalled.down", tooltip="Scroll down.", show=False),
        Binding("up", "scroll_up", "Up", id="recalled.up", tooltip="Scroll up.", show=False),
    ]

    def __init__(self, recalled: Sequence[Item], persona: Persona, user: str, *, note: str = "") -> None:
        """Show recalled items.

        Args:
            recalled: the recalled items in order.
            persona: the persona to which they belong.
            user: the user's name.
            note: a sentence above the items.
        """
        super().__init__()
        self._recalled = recalled
        self._words = _ItemTexts(persona, user)
        self._note = note

    def compose(self) -> ComposeResult:
        """Compose the sections."""
        sections = _sections(self._recalled)
        if sections and self._note:
            yield Static(self._note, classes="nothing", markup=False)
        if not sections:
            yield Static(_NOTHING, classes="nothing", markup=False)
        yield from self._section("lore", sections.pop("lore", ()))
        yield Vertical(id="silent")
        for kind, found_items in sections.items():
            yield from self._section(kind, found_items)

    def _section(self, kind: str, section: Sequence[Item]) -> ComposeResult:
        if section:
            yield Static(_heading(_HEADINGS[kind], len(section)), classes="heading", markup=False)
        for item in section:
            content = self._words.of(item)
            yield Static(_title(item), classes="title" if content else "title last", markup=False)
            if content:
                yield Static(content, classes="words", markup=False)

    async def show_silent(self, silent: SilentLore | None) -> None:
        """Show the inactive lorebook entries; None if unknown."""
        container = self.query_one("#silent", Vertical)
        await container.remove_children()
        if silent is None:
            await container.mount(Static(_NOT_KNOWN, classes="nothing", markup=False))
        elif count := len(silent.near) + len(silent.unheard):
            lines = [Static(line, classes="silent", markup=False) for line in _silent_lines(silent)]
            lines[-1].add_class("last")
            heading = _heading("Inactive lore", count)
            await container.mount(Static(heading, classes="heading", markup=False), *lines)


class _ItemTexts:
    """The text of an item; for a record, from the persona file."""

    def __init__(self, persona: Persona, user: str) -> None:
        self._persona = persona
        self._user = user
        self._knowledge = {passage.source: passage.text for passage in knowledge_of(persona)}

    def of(self, item: Item) -> Content | None:
        if item.get("kind") == "demonstration":
            return self._demonstration(integer(item.get("index"), -1))
        passage = text(item.get("text")) or self._knowledge.get(text(item.get("source")), "")
        return Content(plain(passage).strip()) if passage.strip() else None

    def _demonstration(self, index: int) -> Content:
        if not 0 <= index < len(self._persona.demonstrations):
            return Content.styled("This is no longer in the persona file.", "$foreground-muted italic")
        pair = self._persona.demonstrations[index]
        return Content.assemble(
            (one_line(self._user), "$text-secondary bold"),
            f"  {plain(pair.user)}\n",
            (one_line(self._persona.name), "$text-primary bold"),
            f"  {plain(pair.reply)}",
        )


def recorded_items(made_by: Mapping[str, Any]) -> list[Item]:
    """The recalled items in the provenance that the transcript recorded."""
    passages = [mapping(item) for item in items(made_by.get("recalled"))]
    lore = [{"kind": "lore", **mapping(item)} for item in items(made_by.get("lore_fired"))]
    return [item for item in (*passages, *lore) if item]


def _sections(recalled: Sequence[Item]) -> dict[str, list[Item]]:
    """The items by kind, in the order of the headings."""
    sections: dict[str, list[Item]] = {kind: [] for kind in _HEADINGS}
    for item in recalled:
        sections[_kind(item)].append(item)
    return {kind: section for kind, section in sections.items() if section}


def _kind(item: Item) -> str:
    kind, source = text(item.get("kind")), text(item.get("of"))
    if kind == "passage":
        kind = {"lore": "recalled lore"}.get(source, source)
    return kind if kind in _HEADINGS else "passage"


def _heading(title: str, count: int) -> Content:
    return Content.assemble((title, "bold $text-accent"), (f"  {count:,}", "$foreground-muted"))


def _title(item: Item) -> Content:
    """The reason and the source of an item."""
    reason = one_line(text(item.get("why")))
    if item.get("kind") == "lore":
        name = one_line(text(item.get("name")) or text(item.get("uid")))
        parts = [
            (reason or f"“{name}” is active.", ""),
            (one_line(text(item.get("book"))), "$foreground-muted"),
        ]
    else:
        parts = [
            (f"{number(item.get('score')):.2f}", "bold"),
            (reason, ""),
            (_source(item), "$foreground-muted"),
        ]
    return Content("  ·  ").join(Content.styled(part, style) for part, style in parts if part)


def _source(item: Item) -> str:
    if item.get("kind") == "demonstration":
        return f"demonstration {integer(item.get('index')) + 1}"
    return one_line(text(item.get("source")))


def _silent_lines(silent: SilentLore) -> Iterator[Content]:
    for sentence in silent.near[:_MOST]:
        yield Content(one_line(sentence))
    if len(silent.near) > _MOST:
        yield Content.styled(f"… and {len(silent.near) - _MOST:,} more", "$foreground-muted")
    if silent.unheard:
        names = ", ".join(f"“{one_line(name, 60)}”" for name in silent.unheard[:_MOST])
        hidden = len(silent.unheard) - _MOST
        rest = f" and {hidden:,} more" if hidden > 0 else ""
        yield Content.assemble(("No key matched for ", "$foreground-muted"), f"{names}{rest}.")
