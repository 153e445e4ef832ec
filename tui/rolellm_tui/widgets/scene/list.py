"""Scenes as a list: title, cast and setting."""

from collections.abc import Sequence
from functools import partial

from textual.binding import Binding
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rolellm_agents.text import one_line
from rolellm_tui.widgets.common.drawn_lines import MUTED, DrawnLines
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.scene.scenes_found import OfferedScene

_SETTING = 240
"""Maximum length of a setting in a row, in characters."""


class SceneList(OptionList):
    """Lists scenes; `scene` is the highlighted one."""

    BINDINGS = [
        Binding("enter", "select", "Play", id="scenes.play", tooltip="Play or resume the scene."),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create an empty list; `show` fills it."""
        super().__init__(id=id, markup=False)
        self.scenes: Sequence[OfferedScene] = ()
        """The listed scenes."""

    @property
    def scene(self) -> OfferedScene | None:
        """The highlighted scene."""
        return None if self.highlighted is None else self.scenes[self.highlighted]

    def show(self, scenes: Sequence[OfferedScene]) -> None:
        """List scenes and keep the position of the highlight."""
        index = min(self.highlighted or 0, len(scenes) - 1)
        self.scenes = scenes
        self.set_options(Option(DrawnLines(4, partial(_lines, scene))) for scene in scenes)
        self.highlighted = index if scenes else None


def _lines(offered: OfferedScene, width: int) -> tuple[Content, ...]:
    scene, conversation = offered.scene, offered.begun
    played = counted(conversation.messages, "line") if conversation else ""
    title = Content.styled(one_line(scene.title), "bold")
    room = max(0, width - len(played) - 2)
    return (
        Content.assemble(title.truncate(room, ellipsis=True, pad=True), "  ", (played, "$text-accent")),
        Content(" · ".join(one_line(name) for name in offered.names)),
        Content.styled(one_line(scene.setting[:_SETTING]), MUTED),
        Content(""),
    )
