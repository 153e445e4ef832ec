"""The private sheet of a seat."""

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from rolellm_agents.scene import LoadedScene
from rolellm_agents.text import one_line
from rolellm_tui.widgets.common.drawn_lines import MUTED
from rolellm_tui.widgets.scene.texts import speakers_of

_HELP = (
    ("↑ ↓", "what a seat witnessed"),
    ("N", "speaks next"),
    ("T", "take or give back"),
    ("I", "enters or leaves"),
)


class SeatSheet(VerticalScroll, can_focus=False):
    """Shows the private part of a seat; without a seat, the keys of the cast panel."""

    DEFAULT_CSS = """
    SeatSheet > Static { height: auto; }
    """

    def __init__(self, scene: LoadedScene, *, id: str | None = None) -> None:  # noqa: A002
        """Create the sheets of a scene."""
        super().__init__(id=id)
        self._scene = scene

    def compose(self) -> ComposeResult:
        """Compose the text."""
        yield Static(_help(), markup=False)

    def show(self, seat: str | None) -> None:
        """Show the sheet of a seat."""
        self.query_one(Static).update(_help() if seat is None else sheet_of(self._scene, seat))
        self.scroll_home(animate=False)


def sheet_of(scene: LoadedScene, seat: str) -> Content:
    """Render the private part of a seat."""
    return Content("\n\n").join(
        Content.assemble(Content.styled(label, MUTED), "\n", text)
        for label, text in _labelled_texts(scene, seat)
    )


def _labelled_texts(scene: LoadedScene, seat: str) -> Iterator[tuple[str, str]]:
    own, speakers = scene.seats[seat], speakers_of(scene)
    about = (own.about,) if own.about.strip() else ()
    parts = (("is here", about), ("wants", own.goals), ("hides", own.secrets), ("knows", own.knows))
    for label, texts in parts:
        if texts:
            yield label, "\n".join(one_line(text) for text in texts)
    for other, text in own.relations.items():
        yield f"of {speakers.name(other)}", one_line(text)


def _help() -> Content:
    width = max(len(keys) for keys, _ in _HELP)
    return Content("\n").join(
        Content.assemble((f"{keys:<{width}}  ", "$text-accent"), (meaning, MUTED))
        for keys, meaning in _HELP
    )
