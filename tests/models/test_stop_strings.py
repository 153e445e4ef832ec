from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.stop_strings import StoppingText

# Few letters, so that marks are met, whole and in part.
LETTERS = st.text(alphabet="abc", max_size=30)


def cut(text: str, stop: list[str]) -> str:
    ends = [text.find(mark) for mark in stop if mark in text]
    return text[: min(ends)] if ends else text


@given(
    pieces=st.lists(LETTERS, max_size=8), stop=st.lists(st.text("abc", min_size=1, max_size=4), max_size=3)
)
def test_what_is_shown_ends_before_the_first_mark_however_the_text_comes(
    pieces: list[str], stop: list[str]
) -> None:
    stopping = StoppingText(stop)
    shown = ""
    for piece in pieces:
        shown += stopping.push(piece)
        assert not any(mark in shown for mark in stop)
        if stopping.stopped:
            break
    shown += stopping.rest()
    if not stopping.stopped:
        assert shown == "".join(pieces) == cut("".join(pieces), stop)
    else:
        assert "".join(pieces).startswith(shown)
        assert any("".join(pieces)[len(shown) :].startswith(mark) for mark in stop)


def test_text_that_cannot_begin_a_mark_is_not_held_back() -> None:
    stopping = StoppingText(["User:"])
    assert stopping.push("Hello U") == "Hello "
    assert stopping.push("ncle") == "Uncle"
    assert stopping.push(" Us") == " "
    assert stopping.push("er: hi") == ""
    assert stopping.stopped
    assert stopping.push("more") == ""


def test_an_empty_mark_stops_nothing() -> None:
    assert StoppingText([""]).push("Hello") == "Hello"
