"""The meter beside the chat's title: how full the context is, and how fast answers come."""

from collections.abc import Callable
from typing import Any

import pytest
from helpers.role_app import shown
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from rolellm_agents.transcript import Message
from rolellm_tui.widgets.chat.meter import Meter, words_in, words_per_second
from rolellm_tui.widgets.common.bars import bar, cells_of

WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen"


class Host(App[None]):
    """A title with a meter at its right, as in the chat."""

    CSS = "Horizontal { height: 1; } #who { width: 1fr; }"

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("Ada", id="who")
            yield Meter()

    @property
    def meter(self) -> Meter:
        return self.screen.query_one(Meter)


def answer(text: str = WORDS, *, tokens: int | None = 776, seconds: float = 1.5, **made_by: Any) -> Message:
    """An answer whose first word came after half a second."""
    usage = {"input_tokens": tokens - 20, "output_tokens": 20, "total_tokens": tokens} if tokens else None
    return Message(
        id="1",
        conversation="1",
        parent=None,
        speaker="ada",
        audience=("user", "ada"),
        kind="say",
        text=text,
        status="complete",
        created="2026-01-01T00:00:00Z",
        usage=usage,
        made_by={"model": "m", "first_token_s": 0.5, "seconds": seconds, **made_by},
    )


async def reading(message: Message, context_size: int | None, width: int = 80) -> tuple[str, bool]:
    """What the meter says, and whether it warns."""
    async with Host().run_test(size=(width, 10)) as pilot:
        meter = pilot.app.screen.query_one(Meter)
        meter.show(message, context_size)
        await pilot.pause()
        return shown(meter), meter.has_class("-full")


async def test_before_the_first_answer_there_is_nothing() -> None:
    async with Host().run_test(size=(80, 10)) as pilot:
        assert pilot.app.screen.query_one(Meter).size.width == 0


@pytest.mark.core
@pytest.mark.parametrize(
    ("message", "context_size", "told"),
    [
        (answer(), 2048, "▕███▍     ▏ 38 % · 12 words/s"),
        (answer(), None, "776 tokens · 12 words/s"),
        (answer(tokens=1234, seconds=4.5), None, "1,234 tokens · 3.0 words/s"),
        (answer(tokens=None), 2048, "12 words/s"),
        (answer(seconds=0.5), 2048, "▕███▍     ▏ 38 %"),
        (answer("Yes."), 2048, "▕███▍     ▏ 38 %"),
        (answer(tokens=4096), 2048, "▕█████████▏ 100 % · 12 words/s · nearly full"),
        (answer(dropped_messages=0), 2048, "▕███▍     ▏ 38 % · 12 words/s"),
    ],
)
async def test_what_is_known_is_told_in_one_line(
    message: Message, context_size: int | None, told: str
) -> None:
    assert (await reading(message, context_size))[0] == told


@pytest.mark.parametrize(("tokens", "warns"), [(800, False), (801, True), (1000, True)])
async def test_it_warns_above_four_fifths(tokens: int, warns: bool) -> None:
    assert (await reading(answer(tokens=tokens), 1000))[1] is warns


async def test_it_says_when_the_oldest_messages_were_left_out() -> None:
    told, warns = await reading(answer(tokens=500, dropped_messages=2), 1000)
    assert told == "▕████▌    ▏ 50 % · 12 words/s · oldest messages left out"
    assert warns


async def test_an_answer_after_a_full_one_takes_the_warning_back() -> None:
    async with Host().run_test(size=(80, 10)) as pilot:
        meter = pilot.app.screen.query_one(Meter)
        meter.show(answer(tokens=999), 1000)
        meter.show(answer(tokens=100), 1000)
        await pilot.pause()
        assert shown(meter).endswith("10 % · 12 words/s")
        assert not meter.has_class("-full")


@pytest.mark.parametrize(("width", "visible"), [(59, False), (60, True)])
async def test_it_is_hidden_in_a_narrow_terminal(width: int, visible: bool) -> None:
    assert bool((await reading(answer(), 2048, width))[0]) is visible


async def test_it_comes_and_goes_with_the_terminals_width() -> None:
    async with Host().run_test(size=(80, 10)) as pilot:
        meter = pilot.app.screen.query_one(Meter)
        meter.show(answer(), 2048)
        seen = []
        for width in (80, 50, 70):
            await pilot.resize_terminal(width, 10)
            await pilot.pause()
            seen.append(meter.size.width)
        assert [bool(width) for width in seen] == [True, False, True]
        assert seen[0] == seen[2]


def test_words_that_went_before_do_not_count_as_written_now() -> None:
    begun = answer(" ".join([WORDS] * 10))
    assert words_per_second(begun) == 19  # the model wrote 20 tokens in the second after its first word


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("“Well—don't,” she said.", 4),
        ("今晚喝什么？", 5),
        ("He said 你好.", 4),
        ("*** … ***", 0),
    ],
)
def test_words_are_counted_in_english_and_chinese(text: str, words: int) -> None:
    assert words_in(text) == words


@given(st.floats(allow_nan=False), st.integers(1, 60))
def test_a_bar_is_as_wide_as_it_shall_be_and_grows_with_its_share(share: float, width: int) -> None:
    filled = bar(share, width)
    assert len(filled) == width
    assert _eighths(filled) == round(min(1.0, max(0.0, share)) * width * 8)


def _eighths(filled: str) -> int:
    return sum(" ▏▎▍▌▋▊▉█".index(cell) for cell in filled)


@given(st.lists(st.integers(0, 10_000), max_size=8), st.integers(0, 40_000), st.integers(0, 120))
def test_shares_of_a_bar_are_true_to_a_cell_and_nothing_that_is_there_vanishes(
    amounts: list[int], total: int, width: int
) -> None:
    cells = cells_of(amounts, total, width)
    there = sum(map(bool, amounts))
    assert len(cells) == len(amounts)
    assert sum(cells) <= width
    assert sum(map(bool, cells)) == min(there, width)
    whole = max(total, sum(amounts), 1)
    for amount, got in zip(amounts, cells, strict=True):
        assert got <= max(1, amount * width / whole + 1)
        if width >= 2 * there:
            assert got > amount * width / whole - 1 - there


SnapCompare = Callable[..., bool]


@pytest.mark.core
def test_a_full_meter_looks_as_it_did(snap_compare: SnapCompare) -> None:
    app = Host()

    async def fill(pilot: Any) -> None:
        pilot.app.meter.show(answer(tokens=1900), 2048)
        await pilot.pause()

    assert snap_compare(app, terminal_size=(80, 3), run_before=fill)
