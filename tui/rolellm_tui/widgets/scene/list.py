"""Scenes as a list: title, cast and setting."""

from collections.abc import Sequence

from textual.binding import Binding
from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rolellm_agents.text import one_line
from rolellm_tui.widgets.common.counting import counted
from rolellm_tui.widgets.scene.scenes_found import OfferedScene
from rolellm_tui.widgets.scene.seat_colours import MUTED

_SETTING = 240
"""Characters of a setting that a row can ever show."""


class SceneList(OptionList):
    """To move through; the highlighted one is `scene`."""

    BINDINGS = [
        Binding("enter", "select", "Play", id="scenes.play", tooltip="Play or resume the scene."),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """An empty list, to be filled with `show`."""
        super().__init__(id=id, markup=False)
        self.scenes: Sequence[OfferedScene] = ()
        """Those that are listed."""

    @property
    def scene(self) -> OfferedScene | None:
        """Which is highlighted."""
        return None if self.highlighted is None else self.scenes[self.highlighted]

    def show(self, scenes: Sequence[OfferedScene]) -> None:
        """List these; the highlight stays where it is."""
        place = min(self.highlighted or 0, len(scenes) - 1)
        self.scenes = scenes
        self.set_options(Option(_SceneRow(one)) for one in scenes)
        self.highlighted = place if scenes else None


class _SceneRow(Visual):
    """Three lines and an empty one, cut where the list ends."""

    def __init__(self, offered: OfferedScene) -> None:
        self._offered = offered

    def get_height(self, rules: RulesMap, width: int) -> int:
        return 4

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        drawn: list[Strip] = []
        for line in _lines(self._offered, width):
            drawn += line.truncate(width, ellipsis=True).render_strips(width, 1, style, options)
        return drawn


def _lines(offered: OfferedScene, width: int) -> tuple[Content, ...]:
    scene, begun = offered.scene, offered.begun
    played = counted(begun.messages, "line") if begun else ""
    title = Content.styled(one_line(scene.title), "bold")
    room = max(0, width - len(played) - 2)
    return (
        Content.assemble(title.truncate(room, ellipsis=True, pad=True), "  ", (played, "$text-accent")),
        Content(" · ".join(one_line(name) for name in offered.names)),
        Content.styled(one_line(scene.setting[:_SETTING]), MUTED),
        Content(""),
    )
