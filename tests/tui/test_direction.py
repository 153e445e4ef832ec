"""Texts from right to left are at the right, as they are in books."""

import pytest
from textual.app import App, ComposeResult
from textual.selection import SELECT_ALL
from textual.widgets import Static

from rolellm_tui.widgets.chat.message_text import MessageText
from rolellm_tui.widgets.common.direction import directions, is_right_to_left

WIDTH = 30
HEBREW = "שלום, אני מר Watson."
PERSIAN = "«سلام»، گفت شرلوک (Sherlock)."
ARABIC = "مرحبا! كيف حالك؟"


@pytest.mark.parametrize(
    ("line", "right_to_left"),
    [
        (HEBREW, True),
        (PERSIAN, True),
        (ARABIC, True),
        ("“(שלום)”, said he", True),
        ("12. שלום", True),
        ("• مرحبا", True),
        ("Watson אמר שלום", False),
        ("\u200fWatson אמר שלום", True),
        ("\u200eשלום", False),
        ("\u2068שלום\u2069 is a word", False),
        ("你好，שלום", False),
        ("", None),
        ("12:30 – 14!", None),
    ],
)
def test_the_first_strong_character_decides(line: str, right_to_left: bool | None) -> None:
    assert is_right_to_left(line) is right_to_left


def test_a_line_without_letters_is_as_the_one_before_it_and_tables_stay_in_columns() -> None:
    lines = [HEBREW, "…", "", "…", "a", "…", "שם │ name", "Watson │ רופא"]
    assert list(directions(lines)) == [True, True, False, False, False, False, False, False]


class _Shown(App[None]):
    CSS = f"MessageText {{ width: {WIDTH}; height: auto; }}"

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield MessageText(self._text)


async def rows_of(text: str) -> list[str]:
    async with _Shown(text).run_test(size=(60, 20)) as pilot:
        shown = pilot.app.query_one(MessageText)
        return [shown.render_line(y).text for y in range(shown.size.height)]


@pytest.mark.parametrize("text", [HEBREW, PERSIAN, ARABIC])
async def test_a_short_paragraph_ends_at_the_right(text: str) -> None:
    (row,) = await rows_of(text)
    assert row == text.rjust(WIDTH)


async def test_each_row_of_a_wrapped_paragraph_is_at_the_right_and_other_paragraphs_at_the_left() -> None:
    rows = await rows_of(f"{HEBREW} Elementary, my dear fellow, elementary.\n\nPlain English.")
    assert len(rows) > 3
    assert all(len(row) == WIDTH and not row.endswith(" ") for row in rows[:-2])
    assert rows[-1].rstrip() == "Plain English."


async def test_a_text_at_the_right_is_copied_as_it_is() -> None:
    async with _Shown(f"*{HEBREW}*\n\nAnd *more*.").run_test(size=(60, 20)) as pilot:
        shown = pilot.app.query_one(MessageText)
        assert shown.get_selection(SELECT_ALL) == (f"*{HEBREW}*\n\nAnd *more*.", "\n")
        # The mouse finds the character below it.
        _, offset = pilot.app.screen.get_widget_and_offset_at(WIDTH - len(HEBREW), 0)
        assert offset is not None
        assert (offset.x, offset.y) == (0, 0)


async def test_texts_from_left_to_right_are_drawn_as_before() -> None:
    async with _Shown("Plain English.").run_test() as pilot:
        shown = pilot.app.query_one(MessageText)
        assert isinstance(shown, Static)
        assert shown.render_line(0).text.startswith("Plain English.")
