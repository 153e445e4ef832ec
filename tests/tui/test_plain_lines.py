"""What plain mode tells of a conversation."""

from typing import Any

import pytest

from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import Status
from rolellm_tui.plain import lines


def message(text: str = "Hello.", status: Status = "complete", **made_by: Any) -> Message:
    return Message(
        id="1",
        conversation="c",
        parent=None,
        speaker="ada",
        audience=("user", "ada"),
        kind="say",
        text=text,
        status=status,
        made_by=made_by,
        created="2026-01-01T00:00:00Z",
    )


def test_an_answer_of_a_lorebook_and_of_passages_tells_of_each() -> None:
    recalled = [
        {"kind": "demonstration", "index": 0, "score": 1.5, "why": "shares “came”"},
        {"kind": "passage", "of": "knowledge", "source": "The engine", "score": 2.0, "why": "near"},
    ]
    fired = [
        {"book": "London", "uid": "7", "name": "", "why": "fog in the last line"},
        {"book": "London", "uid": "8", "name": "Thames", "why": "always on"},
    ]
    answer = message(
        model="m",
        strategy="retrieval",
        seed=0,
        seconds=2.5,
        first_token_s=0.0,
        dropped_messages=3,
        threads={"threads": 1, "most": 2},
        recalled=recalled,
        lore_fired=fired,
    )

    assert lines.why(4, answer) == [
        "Message 4 comes from m with the strategy retrieval.",
        "Provenance: seed 0, 2.5 seconds, the first word after 0.0, 3 earlier messages did not fit, "
        "1 of 2 threads, since the machine is busy.",
        "Recalled: example 1 (shares “came”).",
        "Recalled: knowledge, The engine (near).",
        "Lore: 7 of London (fog in the last line).",
        "Lore: Thames of London (always on).",
    ]


def test_what_no_model_wrote_is_said_to_be_so() -> None:
    assert lines.why(1, message(greeting=True)) == ["Message 1 is the greeting, not a model's answer."]
    assert lines.why(3, message(edited="1")) == ["Message 3 was edited by hand."]


def test_of_an_answer_with_nothing_left_out_nothing_is_said_of_that() -> None:
    assert lines.why(2, message(model="m", strategy="system", dropped_messages=0)) == [
        "Message 2 comes from m with the strategy system.",
        "Nothing was recalled.",
    ]


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (message(), "Ada: Hello."),
        (message(status="stopped"), "Ada: Hello. (cut off)"),
        (message(status="failed"), "Ada: Hello. (cut off by an error)"),
        (message(finish_reason="length"), "Ada: Hello. (reached its token limit)"),
    ],
)
def test_a_message_is_read_with_its_ending(one: Message, told: str) -> None:
    assert lines.message_line(one, "Ada") == told


def test_branches_are_read_with_their_last_words() -> None:
    paths = [("main", [message(), message("Word " * 40)]), ("branch-2", [message()]), ("branch-3", [])]

    assert lines.branches(paths, "branch-2") == [
        f"1. main, 2 messages, ends with “{('Word ' * 12)[:59].rstrip()}…”",
        "2. branch-2, 1 message, ends with “Hello.” (you are here)",
        "3. branch-3, 0 messages",
    ]
