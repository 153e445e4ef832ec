"""The lines of a scene, or those that a seat witnessed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message as AppMessage
from textual.widgets import Static
from textual.worker import Worker

from rolellm_agents.scene import line_of
from rolellm_agents.scene.witness import witnessed
from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import Message
from rolellm_graphs.events import MessageDone, Retried, SceneEvent, SpeakerChosen, TokenDelta, TurnFailed
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.widgets.common.drawn_lines import MUTED
from rolellm_tui.widgets.common.failures import Failed, failure_text
from rolellm_tui.widgets.scene.line import SceneLineView
from rolellm_tui.widgets.scene.texts import speakers_of

PAGE = 60
"""Lines per page; earlier pages load on scrolling up."""


_MOST = 2 * PAGE
"""Maximum number of displayed lines while playing."""


class SceneText(VerticalScroll):
    """Shows the branch of a stage and the line being generated.

    Up and Down move a cursor between lines; below the last line there is none.
    """

    BINDINGS = [
        Binding("up", "cursor(-1)", "Up", id="scene.up", tooltip="Previous line.", show=False),
        Binding("down", "cursor(1)", "Down", id="scene.down", tooltip="Next line.", show=False),
        Binding(
            "left",
            "screen.swipe(-1)",
            "‹",
            id="scene.left",
            tooltip="Previous version.",
            show=False,
        ),
        Binding(
            "right",
            "screen.swipe(1)",
            "›",
            id="scene.right",
            tooltip="Next version.",
            show=False,
        ),
        Binding(
            "b",
            "screen.branch",
            "Branch",
            id="scene.branch-here",
            tooltip="Start a new branch here.",
            show=False,
        ),
        Binding("w", "screen.why", "Why", id="scene.why-this", tooltip="Why this message?", show=False),
        Binding("c", "screen.copy", "Copy", id="scene.copy", tooltip="Copy the text.", show=False),
    ]

    @dataclass
    class SwipeRequested(AppMessage):
        """The user moved past the last swipe of the last line."""

    def __init__(self, stage: Stage, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Show a stage with its lines."""
        super().__init__(id=id)
        self.viewer: str | None = None
        """The seat of the view; None for all lines."""
        self._stage = stage
        self._speakers = speakers_of(stage.loaded)
        self._growing: Message | None = None
        self._first_shown = 0
        self._cursor: SceneLineView | None = None
        self._showing = asyncio.Lock()

    def compose(self) -> ComposeResult:
        """Compose the setting, the lines and the ending."""
        yield Static(self._setting(), classes="setting", markup=False)
        yield Static("", classes="over", markup=False)

    async def on_mount(self) -> None:
        """Scroll to the end."""
        self.anchor()
        await self._show_last_page()
        self.watch(self, "scroll_y", self._scrolled, init=False)

    # What is on the screen

    async def look_as(self, seat: str | None) -> None:
        """Show the lines that a seat witnessed; None for all."""
        self.viewer = seat
        self._move_cursor(None)
        await self._show_last_page()
        self.anchor()

    async def take(self, event: SceneEvent) -> None:
        """Show the effect of an event."""
        match event:
            case TokenDelta(message=message, text=text):
                await self._grow(message, text)
            case SpeakerChosen():
                await self.show()
            case MessageDone() | Retried() | TurnFailed():
                await self.settle()

    async def settle(self) -> None:
        """Remove the line being generated."""
        finished, self._growing = self._growing, None
        self._drop_early_lines()
        await self.show()
        for line in self._lines:
            if finished is not None and line.message.id == finished.id:
                self._count_swipes(line)

    def _drop_early_lines(self) -> None:
        """Remove early lines from the screen while playing."""
        count = len(self._visible_messages())
        if count - self._first_shown > _MOST and self._cursor is None and self.is_vertical_scroll_end:
            self._first_shown = count - PAGE

    async def show(self) -> None:
        """Synchronize the lines with the stage, keeping unchanged ones."""
        async with self._showing:
            messages = self._visible_messages()[self._first_shown :]
            messages = [
                *messages,
                *([self._growing] if self._growing and self._is_seen(self._growing) else []),
            ]
            ids = {message.id for message in messages}
            present = {line.message.id: line for line in self._lines}
            with self.app.batch_update():
                if removed := [line for id_, line in present.items() if id_ not in ids]:
                    await self.remove_children(removed)
                await self._put(messages, present)
                self._show_ends()
            if self._cursor is not None and self._cursor.message.id not in ids:
                self._move_cursor(None)

    async def _put(self, messages: Sequence[Message], present: dict[str, SceneLineView]) -> None:
        """Mount missing lines."""
        new: list[SceneLineView] = []
        for message in messages:
            if line := present.get(message.id):
                line.mark(message)
                if new:
                    await self.mount_all(new, before=line)
                new = []
            else:
                new.append(self._line_for(message))
        if new:
            await self.mount_all(new, before=self.query_one(".over"))

    async def _show_last_page(self) -> None:
        self._first_shown = max(0, len(self._visible_messages()) - PAGE)
        await self.show()

    async def _grow(self, message_id: str, chunk: str) -> None:
        """Show text of the line being generated."""
        if self._growing is None or self._growing.id != message_id:
            message = next(
                candidate for candidate in self._stage.swipes(message_id) if candidate.id == message_id
            )
            self._growing = replace(message, text="", status="complete")
        self._growing = replace(self._growing, text=self._growing.text + chunk)
        if not self._is_seen(self._growing):
            return
        line = next(
            (candidate for candidate in reversed(self._lines) if candidate.message.id == message_id), None
        )
        if line is None:
            await self.show()
        else:
            line.mark(self._growing)

    def _visible_messages(self) -> Sequence[Message]:
        return self._stage.messages if self.viewer is None else self._stage.witnessed(self.viewer)

    def _is_seen(self, message: Message) -> bool:
        return self.viewer is None or bool(witnessed([line_of(message)], self.viewer))

    @property
    def _lines(self) -> list[SceneLineView]:
        return list(self.query(SceneLineView))

    def _line_for(self, message: Message) -> SceneLineView:
        line = SceneLineView(message, self._speakers)
        if message is not self._growing:
            self._count_swipes(line)
        return line

    def _count_swipes(self, line: SceneLineView) -> None:
        ids = [swipe.id for swipe in self._stage.swipes(line.message.id)]
        line.set_swipes(ids.index(line.message.id) + 1, len(ids))

    # Its two ends

    def _setting(self) -> Content:
        scene = self._stage.loaded.scene
        parts = [
            Content.styled(one_line(scene.title), "bold $text-primary"),
            Content(plain(scene.setting).strip()),
        ]
        if scene.time:
            parts.append(Content.styled(one_line(scene.time), f"italic {MUTED}"))
        parts.append(
            Content(", ").join(self._speakers.content(seat.id) for seat in scene.cast if seat.present)
        )
        return Content("\n\n").join(parts)

    def _show_ends(self) -> None:
        self.query_one(".setting").display = self._first_shown == 0
        over = self.query_one(".over", Static)
        ended = self._stage.ended if self._growing is None else ""
        over.display = bool(ended)
        if ended:
            over.update(
                Content.assemble(("The scene is over. ", "bold"), plain(ended), "\n", (_NEXT_STEP, MUTED))
            )

    # Earlier lines

    def _scrolled(self, scroll_y: float) -> None:
        if scroll_y <= 0 and self._first_shown and not self._stage.answering:
            self._show_earlier()

    @work(group="earlier", exclusive=True, exit_on_error=False)
    async def _show_earlier(self) -> None:
        """Load the previous page without moving the visible part."""
        from_bottom = self.virtual_size.height - self.scroll_offset.y
        self._first_shown = max(0, self._first_shown - PAGE)
        await self.show()
        self.call_after_refresh(
            lambda: self.scroll_to(y=self.virtual_size.height - from_bottom, animate=False, force=True)
        )

    # The cursor

    @property
    def chosen(self) -> Message | None:
        """The line under the cursor, if there is one."""
        return self._cursor.message if self._cursor is not None else None

    def action_cursor(self, step: int) -> None:
        """Move to the previous or next line."""
        lines = self._lines
        current = lines.index(self._cursor) if self._cursor in lines else len(lines)
        index = max(0, current + step)
        self._move_cursor(lines[index] if index < len(lines) else None)
        if self._cursor is None:
            self.anchor()
        else:
            self.release_anchor()
            self.scroll_to_widget(self._cursor, animate=False)
            if index == 0:
                self.scroll_home(animate=False)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked line."""
        line = event.widget
        if isinstance(line, SceneLineView):
            self._move_cursor(line)

    def _move_cursor(self, line: SceneLineView | None) -> None:
        if self._cursor is not None:
            self._cursor.remove_class("-cursor")
        self._cursor = line
        if line is not None:
            line.add_class("-cursor")

    # Swipes

    async def swipe(self, step: int) -> None:
        """Show the previous or next swipe of a line; after the last, generate a new one."""
        line = self._cursor or self._last_turn
        if line is None or self._stage.answering:
            return
        swipes = self._stage.swipes(line.message.id)
        index = [swipe.id for swipe in swipes].index(line.message.id) + step
        if 0 <= index < len(swipes):
            self._stage.choose(swipes[index].id)
            await self.show()
        elif index >= len(swipes) and line is self._last_turn:
            self.post_message(self.SwipeRequested())

    @property
    def _last_turn(self) -> SceneLineView | None:
        """The last line of a model."""
        return next((line for line in reversed(self._lines) if "model" in line.message.made_by), None)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors."""
        if failure := failure_text(event):
            self.post_message(Failed(failure))


_NEXT_STEP = "Ctrl+Z undo the last turn · B on a line: new branch · X export"
