"""The cast panel of a scene."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rolellm_agents.scene import NARRATOR, SceneLine
from rolellm_agents.scene.witness import witnessed
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.widgets.common.drawn_lines import MUTED, DrawnLines
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.scene.texts import speakers_of

_TALK = 5
"""Width of the talkativeness slider, in cells."""


class CastPanel(OptionList):
    """Lists the seats. The highlighted seat determines the view; letters act on it."""

    BINDINGS = [
        Binding("t", "seat", "Seat", id="cast.seat", tooltip="Take this seat, or give it back."),
        Binding("i", "presence", "In/out", id="cast.presence", tooltip="Enter or leave the scene."),
        Binding("n", "speak", "Speak", id="cast.speak", tooltip="Make this one speak next."),
    ]

    @dataclass
    class Viewed(Message):
        """The user chose the view of a seat."""

        seat: str | None
        """None for all lines."""

    @dataclass
    class SeatRequested(Message):
        """The user takes or leaves a seat."""

        seat: str

    @dataclass
    class PresenceRequested(Message):
        """The user lets a character enter or leave."""

        seat: str

    @dataclass
    class SpeechRequested(Message):
        """The user chooses the next speaker."""

        seat: str

    def __init__(self, stage: Stage, *, id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create the panel of a stage."""
        super().__init__(id=id, markup=False)
        self._stage = stage
        self._speakers = speakers_of(stage.loaded)
        self._speaking: str | None = None
        self._viewed: str | None = None
        seats = [*stage.loaded.seats, *([NARRATOR] if stage.loaded.scene.narrator else [])]
        self._rows: list[str | None] = [None, *seats]

    def on_mount(self) -> None:
        """List the seats."""
        all_lines, *seats = map(Option, self._drawn_rows())
        self.add_options([all_lines, None, *seats])
        self.highlighted = 0

    @property
    def seat(self) -> str | None:
        """The highlighted seat; None for all lines."""
        return self._rows[self.highlighted or 0]

    def show(self, speaking: str | None) -> None:
        """Update the rows.

        Args:
            speaking: the seat that is speaking, if any.
        """
        self._speaking = speaking
        for index, row in enumerate(self._drawn_rows()):
            self.replace_option_prompt_at_index(index, row)

    def look_as(self, seat: str | None) -> None:
        """Highlight the seat of the view."""
        self._viewed = seat
        if self.seat not in (seat, NARRATOR):
            self.highlighted = self._rows.index(seat)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Request the view of the highlighted seat; the narrator sees all lines."""
        event.stop()
        viewed = None if self.seat == NARRATOR else self.seat
        if viewed != self._viewed:
            self._viewed = viewed
            self.post_message(self.Viewed(viewed))

    def action_seat(self) -> None:
        """Request the action."""
        if self.seat is not None:
            self.post_message(self.SeatRequested(self.seat))

    def action_presence(self) -> None:
        """Request the action."""
        if self.seat not in (None, NARRATOR):
            self.post_message(self.PresenceRequested(str(self.seat)))

    def action_speak(self) -> None:
        """Request the action."""
        if self.seat not in (None, NARRATOR):
            self.post_message(self.SpeechRequested(str(self.seat)))

    def _drawn_rows(self) -> Iterator[DrawnLines]:
        lines, present = self._stage.lines, self._stage.present
        for seat in self._rows:
            if seat is None:
                yield _seat_row(Content.styled("Everything", "bold"), "", counted(len(lines), "line"))
            elif seat == NARRATOR:
                yield self._narrators_row()
            else:
                yield self._row(seat, lines, present=seat in present)

    def _narrators_row(self) -> DrawnLines:
        state = "you" if NARRATOR in self._stage.persons else ""
        return _seat_row(Content.styled("  Narrator", f"bold {MUTED}"), state, "narrates")

    def _row(self, seat: str, lines: Sequence[SceneLine], *, present: bool) -> DrawnLines:
        speaks, is_person = seat == self._speaking, seat in self._stage.persons
        mark = "▸ " if speaks else "✎ " if is_person else "● " if present else "○ "
        name = self._speakers.content(seat) if present else Content.styled(self._speakers.name(seat), MUTED)
        colour = f"$text-{self._speakers.colours[seat]}" if present else MUTED
        knows = f"knows {len(witnessed(lines, seat)):,} of {len(lines):,}" if lines else ""
        detail = " · ".join(filter(None, ("" if present else "not there", knows)))
        talkative = round(_TALK * self._stage.loaded.seats[seat].talkativeness)
        state = "speaks" if speaks else "you" if is_person else ""
        return _seat_row(Content.assemble((mark, colour), name), state, detail, talkative)


def _seat_row(name: Content, state: str, detail: str, talkative: int | None = None) -> DrawnLines:
    """Two lines with a left and a right part; the left one is cut."""
    lines = (
        (name, Content.styled(state, "italic $text-accent")),
        (Content.styled(f"  {detail}", MUTED), Content("") if talkative is None else _slider(talkative)),
    )

    def draw(width: int) -> Iterator[Content]:
        for left, right in lines:
            room = max(0, width - right.cell_length - 1)
            yield Content.assemble(left.truncate(room, ellipsis=True, pad=True), " ", right)

    return DrawnLines(2, draw)


def _slider(cells: int) -> Content:
    return Content.assemble(("━" * cells, MUTED), ("─" * (_TALK - cells), "$primary-muted"))
