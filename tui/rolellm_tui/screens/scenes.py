"""The scenes: choose one to play."""

import asyncio
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Header, OptionList, Static
from textual.worker import Worker

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.scene.loading import FoundScene
from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import Transcript
from rolellm_tui.widgets.common.drawn_lines import MUTED
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.status_line import StatusLine
from rolellm_tui.widgets.library.persona_texts import LANGUAGES
from rolellm_tui.widgets.scene.list import SceneList
from rolellm_tui.widgets.scene.scenes_found import OfferedScene, offered_scenes
from rolellm_tui.widgets.scene.texts import COLOURS


class ScenesScreen(Screen[None]):
    """A list of scenes. Enter plays or resumes the highlighted one."""

    CSS_PATH = "scenes.tcss"
    AUTO_FOCUS = "#scenes"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    BINDINGS = [
        Binding("n", "begin", "New", id="scenes.new", tooltip="Restart the scene."),
        Binding("f8,f11", "edit", "Edit", id="scenes.edit", tooltip="Edit this scene's file."),
        Binding("f9", "write", "Write", id="scenes.write", tooltip="Write a new scene."),
        Binding("escape", "leave", "Back", id="scenes.leave", tooltip="Back."),
    ]

    @dataclass
    class Chosen(Message):
        """The user plays a scene."""

        offered: OfferedScene
        new: bool
        """Restart it instead of resuming."""

    @dataclass
    class EditRequested(Message):
        """The user edits a scene, or writes a new one."""

        found: FoundScene | None

    def __init__(self, transcript: Transcript) -> None:
        """Show all scenes, with their last conversation in `transcript`."""
        super().__init__()
        self._transcript = transcript

    def compose(self) -> ComposeResult:
        """Compose the list and the details."""
        yield Header()
        with Horizontal(id="shelf"):
            yield SceneList(id="scenes")
            with VerticalScroll(id="preview", can_focus=False):
                yield Static("", id="about", markup=False)
        yield StatusLine(id="status")
        yield KeyFooter()

    def on_mount(self) -> None:
        """Read the scenes."""
        self.sub_title = "scenes"

    def on_screen_resume(self) -> None:
        """Reload, since a scene may have been played."""
        self._load()

    @work(group="list", exclusive=True, exit_on_error=False)
    async def _load(self) -> None:
        try:
            offered, notes = await asyncio.to_thread(offered_scenes, self._transcript)
        except RoleLLMError as error:
            self._status.complain(error)
            return
        self.query_one(SceneList).show(offered)
        if notes:
            self._status.complain(notes[0] if len(notes) == 1 else f"{notes[0]} And {len(notes) - 1} more.")
        elif not offered:
            self._status.show_message("There are no scenes; F9 writes one.")

    @on(OptionList.OptionHighlighted, "#scenes")
    def _look(self) -> None:
        offered = self.query_one(SceneList).scene
        self.query_one("#about", Static).update(_about(offered) if offered else "")
        self.query_one("#preview").scroll_home(animate=False)

    @on(OptionList.OptionSelected, "#scenes")
    def _scene_selected(self) -> None:
        self._choose(new=False)

    def action_begin(self) -> None:
        """Restart the highlighted scene."""
        self._choose(new=True)

    def _choose(self, *, new: bool) -> None:
        if offered := self.query_one(SceneList).scene:
            self.post_message(self.Chosen(offered, new))

    def action_edit(self) -> None:
        """Edit the highlighted scene."""
        if offered := self.query_one(SceneList).scene:
            self.post_message(self.EditRequested(offered.found))

    def action_write(self) -> None:
        """Write a new scene."""
        self.post_message(self.EditRequested(None))

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._status.complain(failure)

    @property
    def _status(self) -> StatusLine:
        return self.query_one(StatusLine)


def _about(offered: OfferedScene) -> Content:
    """Setting and cast, without secrets."""
    scene = offered.scene
    cast = []
    for number, (seat, name) in enumerate(zip(scene.cast, offered.names, strict=True)):
        colour = f"bold $text-{COLOURS[number % len(COLOURS)]}"
        notes = [
            note for note, applies in (("you", seat.person), ("joins later", not seat.present)) if applies
        ]
        cast.append(Content.assemble((one_line(name), colour), (f"  {', '.join(notes)}", MUTED)))
    facts = [
        LANGUAGES.get(scene.language, scene.language),
        f"{scene.director.kind} director",
        f"at most {counted(scene.stop.turns, 'turn')}",
        *scene.tags,
    ]
    return Content("\n\n").join(
        [
            Content.styled(one_line(scene.title), "bold $text-primary"),
            Content(plain(scene.setting).strip()),
            *([Content.styled(one_line(scene.time), f"italic {MUTED}")] if scene.time else []),
            Content("\n").join(cast),
            Content.styled(" · ".join(one_line(fact) for fact in facts), MUTED),
        ]
    )
