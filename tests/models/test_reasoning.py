"""What a model thinks is never part of what it says, however its stream is cut."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from rolellm_agents.models.reasoning import (
    FORMATS,
    REASONING,
    ReasoningChunks,
    ReasoningMarks,
    ReasoningSplitter,
    split_reasoning,
    without_reasoning,
)

THOUGHT, SAID = "the jewel is in the goose", "Nothing, Watson."
TEXTS = st.text(alphabet="ab <>|/[]\n", max_size=30)


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def heard(pieces: list[str], inside: ReasoningMarks | None = None) -> tuple[str, str]:
    """What is said and what is thought, in that order."""
    splitter = ReasoningSplitter(inside)
    parts = [part for piece in pieces for part in splitter.push(piece)] + splitter.end()
    said = "".join(part.text for part in parts if not part.is_reasoning)
    return said, "".join(part.text for part in parts if part.is_reasoning)


@pytest.mark.parametrize("marks", FORMATS)
@settings(max_examples=1_000)
@given(places=st.lists(st.integers(min_value=0, max_value=200), max_size=8))
def test_no_cut_lets_a_thought_be_heard(marks: ReasoningMarks, places: list[int]) -> None:
    """Ten formats, a thousand random cuts each."""
    before = "<|start|>assistant" if marks.answers else ""
    text = f"{marks.opens}{marks.space}{THOUGHT}{marks.closes}{before}{marks.answers}\n\n{SAID}"
    said, thought = heard(cut(text, places))
    assert (said, thought.strip()) == (SAID, THOUGHT)


@pytest.mark.parametrize("marks", FORMATS)
def test_an_unclosed_thought_is_not_heard_and_one_opened_by_the_prompt_neither(
    marks: ReasoningMarks,
) -> None:
    assert heard([f"{marks.opens}{marks.space}{THOUGHT}"])[0] == ""
    assert heard([THOUGHT, marks.closes, marks.answers, SAID], marks) == (SAID, THOUGHT)
    assert heard([THOUGHT], marks) == ("", THOUGHT)


@settings(max_examples=500)
@given(text=TEXTS, places=st.lists(st.integers(min_value=0, max_value=60), max_size=6))
def test_a_text_without_marks_is_not_changed(text: str, places: list[int]) -> None:
    assert heard(cut(text, places)) == (text, "")


def test_a_thought_in_the_middle_of_an_answer_is_taken_out() -> None:
    text = "<think>one</think>I say <think>two</think>this."
    assert heard([*text]) == ("I say this.", "onetwo")


def test_no_mark_begins_with_another() -> None:
    """Or the shorter one would be taken before the longer one is complete."""
    marks = [one.opens for one in FORMATS]
    assert not [(one, other) for one in marks for other in marks if one != other and other.startswith(one)]


def test_a_complete_text_may_lack_the_opening_mark() -> None:
    assert split_reasoning(f"{THOUGHT}\n</think>\n\n{SAID}") == (SAID, THOUGHT)
    assert split_reasoning(SAID) == (SAID, "")
    assert split_reasoning("a < b, a <think") == ("a < b, a <think", "")


def test_a_message_keeps_its_reasoning_apart_where_langchain_reads_it() -> None:
    message = without_reasoning(AIMessage(f"<think>{THOUGHT}</think>{SAID}"))
    assert (message.text, message.additional_kwargs[REASONING]) == (SAID, THOUGHT)
    blocks = {block["type"]: block for block in message.content_blocks}
    assert blocks["reasoning"]["reasoning"] == THOUGHT  # type: ignore[typeddict-item]
    plain = AIMessage(SAID)
    assert without_reasoning(plain) is plain


def test_chunks_keep_what_they_carry_besides_text() -> None:
    separator = ReasoningChunks()
    given_chunks = [AIMessageChunk(content=piece) for piece in ("<thi", "nk>hm</th", "ink>", "\nYes", ".")]
    last = AIMessageChunk(
        content="", response_metadata={"finish_reason": "stop"}, chunk_position="last", id="x"
    )
    chunks = [
        part
        for message in (*given_chunks, last)
        for part in separator.push(ChatGenerationChunk(message=message))
    ]
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.message.text == "Yes."
    assert whole.message.additional_kwargs[REASONING] == "hm"
    assert whole.message.response_metadata == {"finish_reason": "stop"}
