from collections.abc import Sequence

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.fitting import fit_messages
from rolellm_agents.models.message_marks import DEMONSTRATION_MARK

MARK = {DEMONSTRATION_MARK: True}


def words(messages: Sequence[BaseMessage]) -> int:
    return sum(len(message.text.split()) for message in messages)


def conversation(turns: int) -> list[BaseMessage]:
    messages: list[BaseMessage] = [
        SystemMessage("the persona"),
        HumanMessage("example question", additional_kwargs=MARK),
        AIMessage("example answer", additional_kwargs=MARK),
    ]
    for turn in range(turns):
        messages += [HumanMessage(f"question {turn}"), AIMessage(f"answer {turn}")]
    return [*messages, HumanMessage("last question")]


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def test_what_fits_stays_as_it_is() -> None:
    messages = conversation(3)
    assert fit_messages(messages, words(messages), words) == (messages, 0)


def test_the_oldest_turns_go_first_and_whole() -> None:
    kept, dropped = fit_messages(conversation(3), 14, words)
    assert texts(kept) == [
        "the persona",
        "example question",
        "example answer",
        "question 2",
        "answer 2",
        "last question",
    ]
    assert dropped == 4


def test_an_answer_that_has_begun_keeps_the_line_it_answers() -> None:
    said: list[BaseMessage] = [
        HumanMessage("old " * 20),
        AIMessage("old " * 20),
        HumanMessage("new line"),
        AIMessage("I have"),
    ]
    kept, dropped = fit_messages(said, 20, words)
    assert [message.text for message in kept] == ["new line", "I have"]
    assert dropped == 2


def test_demonstrations_go_when_nothing_else_is_left() -> None:
    kept, dropped = fit_messages(conversation(2), 5, words)
    assert texts(kept) == ["the persona", "last question"]
    assert dropped == 6


def test_persona_and_last_message_too_long_is_an_error_with_the_numbers() -> None:
    with pytest.raises(ModelError, match="takes 4 tokens and the model has room for 3"):
        fit_messages(conversation(2), 3, words)


def test_over_a_long_conversation_most_prompts_begin_like_the_one_before() -> None:
    beginnings = [fit_messages(conversation(turn), 100, words)[1] for turn in range(300)]
    assert beginnings == sorted(beginnings)
    # A step frees a quarter of the 92 words that turns of 4 words may take.
    assert len(set(beginnings)) <= 300 * 4 / (92 / 4) + 1


@given(
    turns=st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), max_size=20),
    room=st.integers(4, 120),
)
def test_whatever_is_dropped_the_rest_fits_and_begins_with_a_question(
    turns: list[tuple[int, int]], room: int
) -> None:
    messages: list[BaseMessage] = [SystemMessage("the persona")]
    for asked, answered in turns:
        messages += [HumanMessage("q " * asked), AIMessage("a " * answered)]
    messages.append(HumanMessage("last question"))
    kept, dropped = fit_messages(messages, room, words)
    assert words(kept) <= room
    assert kept[0] is messages[0]
    assert kept[1:] == messages[1 + dropped :]
    assert kept[1].type == "human"


@examples(0.5)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=5, max_size=120),
    room=st.integers(120, 400),
)
def test_as_a_conversation_grows_its_prompts_grow_at_their_end_between_two_steps(
    sizes: list[tuple[int, int]], room: int
) -> None:
    turns = [
        (HumanMessage(f"q{turn} " + "q " * asked), AIMessage(f"a{turn} " + "a " * answered))
        for turn, (asked, answered) in enumerate(sizes)
    ]
    steps = 0
    before: list[BaseMessage] = []
    for place, (line, _) in enumerate(turns):
        said = [message for turn in turns[:place] for message in turn]
        whole: list[BaseMessage] = [*conversation(0)[:-1], *said, line]
        kept, dropped = fit_messages(whole, room, words)
        assert kept[:3] == whole[:3]
        assert kept[3:] == whole[3 + dropped :]
        if kept[: len(before)] != before:
            steps += 1
        before = kept
    total = sum(words(turn) for turn in turns)
    step = (room - 6) // 4
    assert steps <= total / step + 1
