"""From items to samples: what is clean, what is left out, and that nothing is lost between."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets import read_samples
from rolellm_agents.errors import StorageError
from rolellm_agents.generation.samples import SampleRow, context_rows, rolegpt_rows, write_rows
from rolellm_agents.generation.trimming import (
    ROLEGPT_STRATEGIES,
    TrimmedAnswer,
    cleaned,
    prompts_of,
    trim_to_last_sentence,
)
from rolellm_agents.persona import Persona

ADA = Persona(id="ada", name="Ada", description="Ada.")


def answer(question: str, **changes: Any) -> dict[str, Any]:
    return {
        "role": "Ada",
        "persona": "ada",
        "language": "en",
        "kind": "script_based",
        "question": question,
        "answer": "I light it.",
        "labels": [],
        **changes,
    }


def said(text: str, *labels: str) -> dict[str, Any]:
    return {**answer("Say it."), "strategy": "zero-shot", "answer": text, "labels": list(labels)}


def by_part(rows: list[SampleRow]) -> dict[str, list[Any]]:
    return {
        part: [row.sample for row in rows if row.part == part]
        for part in ("samples", "left_out", "rolegpt_baseline")
    }


def test_of_clean_questions_that_are_nearly_the_same_the_first_stays() -> None:
    question = "Ada, why do you light the lamp on Gull Rock yourself?"
    rows = by_part(
        [
            *context_rows(
                [
                    answer(question, labels=["unfinished"]),
                    answer(question),
                    answer(
                        question.replace("Ada, why", "Why") + " Ada!", kind="boundary", labels=["boundary"]
                    ),
                    answer("Ada, who is Ben?", kind="boundary", labels=["boundary"]),
                ]
            )
        ]
    )
    assert [row["labels"] for row in rows["samples"]] == [[], ["boundary"]]
    assert [row["labels"] for row in rows["left_out"]] == [["unfinished"], ["boundary", "near-duplicate"]]
    assert [row["type"] for row in rows["samples"]] == [["script_based"], ["script_agnostic"]]


def test_an_answer_without_questions_is_left_out_with_its_words() -> None:
    unread = {**answer(""), "unread": "I would ask about the lamp.", "questions": []}
    del unread["answer"], unread["question"]
    asked = {**unread, "questions": [{"text": "Who?"}]}
    del asked["unread"]
    (row,) = context_rows([unread, asked])
    assert row.part == "left_out"
    assert (row.sample["generated"], row.sample["labels"]) == (
        ["I would ask about the lamp."],
        ["unreadable"],
    )


def test_five_answers_are_references_and_the_sixth_is_the_baseline() -> None:
    rows = by_part([*rolegpt_rows([said(f"Answer {number}.") for number in range(6)])])
    (sample,) = rows["samples"]
    assert sample["generated"] == [f"Answer {number}." for number in range(5)]
    assert "type" not in sample
    assert [row["generated"] for row in rows["rolegpt_baseline"]] == [["Answer 5."]]
    assert rows["left_out"] == []


def test_what_has_a_fault_or_stands_there_already_is_no_reference() -> None:
    items = [
        said("A."),
        said("I'm sorry.", "refusal"),
        said("A."),
        None,
        said("B."),
        said("As an AI.", "ai-talk"),
    ]
    rows = by_part([*rolegpt_rows(items)])
    assert [row["generated"] for row in rows["samples"]] == [["A.", "B."]]
    assert [(row["generated"], row["labels"]) for row in rows["left_out"]] == [
        (["I'm sorry."], ["refusal"]),
        (["A."], ["near-duplicate"]),
        (["As an AI."], ["ai-talk"]),
    ]
    assert rows["rolegpt_baseline"] == []


def test_a_single_answer_is_a_reference_and_none_at_all_is_no_row() -> None:
    assert [row.part for row in rolegpt_rows([said("A.")])] == ["samples"]
    assert [*rolegpt_rows([None, None])] == []


@given(
    st.lists(
        st.none()
        | st.tuples(
            st.sampled_from("ABCD"), st.lists(st.sampled_from(["refusal", "unfinished"]), max_size=2)
        ),
        min_size=1,
        max_size=8,
    )
)
def test_every_answer_ends_up_in_one_place(items: list[tuple[str, list[str]] | None]) -> None:
    rows = by_part([*rolegpt_rows([None if one is None else said(one[0], *one[1]) for one in items])])
    told = [text for held in rows.values() for row in held for text in row["generated"]]
    assert sorted(told) == sorted(one[0] for one in items if one is not None)


def test_what_is_written_is_read_again_as_samples_of_rolebench(tmp_path: Path) -> None:
    rows = [*context_rows([answer("Ada, who lights\u2028the lamp?"), answer("Ada, who is Ben?")])]
    rows += rolegpt_rows([said("A.")])
    written = write_rows(tmp_path, rows, ("samples", "left_out"))
    specific, _, general = read_samples(tmp_path / "samples.jsonl")
    assert (specific.kind, specific.types, general.kind) == ("role_specific", ("script_based",), "general")
    assert specific.extra == {"persona": "ada", "labels": []}
    assert written.rows == {"samples": 3, "left_out": 0}
    assert (tmp_path / "left_out.jsonl").read_text() == ""


def test_a_full_disk_leaves_the_files_of_before(tmp_path: Path) -> None:
    write_rows(tmp_path, context_rows([answer("Ada, who is Ben?")]), ("samples", "left_out"))
    before = (tmp_path / "samples.jsonl").read_bytes()

    def rows() -> Any:
        yield from context_rows([answer("Ada, who lights the lamp?")])
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StorageError, match="No space left on device"):
        write_rows(tmp_path, rows(), ("samples", "left_out"))
    assert (tmp_path / "samples.jsonl").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["left_out.jsonl", "samples.jsonl"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" I light it. ", "I light it."),
        ("Ada: I light it.", "I light it."),
        ("**Ada:** I light it.", "I light it."),
        ("“I light it.”", "I light it."),
        ('"I light it."', "I light it."),
        ('"Yes." He said "no."', '"Yes." He said "no."'),
        ("Ada, I light it.", "Ada, I light it."),
        ("I light it: Ada: me.", "I light it: Ada: me."),
        ("", ""),
        ('""', '""'),
        ("\x1b[31mRed\x1b[0m", "Red"),
    ],
)
def test_only_what_stands_around_the_words_is_taken_away(text: str, expected: str) -> None:
    assert cleaned(text, ADA) == expected


@pytest.mark.parametrize("strategy", ROLEGPT_STRATEGIES)
def test_every_strategy_of_the_paper_tells_its_prompts(strategy: str) -> None:
    names = [prompt.name for prompt in prompts_of(strategy, "zh")]
    assert names[0] == "custom-instruction/zh@1"
    assert ("examples/zh@1" in names) == (strategy == "few-shot-prompt")
    assert json.dumps(names)


@pytest.mark.parametrize(
    ("text", "at_limit", "expected"),
    [
        (
            "I light it at dusk. And then I",
            True,
            TrimmedAnswer("I light it at dusk.", "shortened", "And then I"),
        ),
        (
            "I light it at dusk. And then I",
            False,
            TrimmedAnswer("I light it at dusk. And then I", None, ""),
        ),
        ("I light it at dusk. “Always.”", True, TrimmedAnswer("I light it at dusk. “Always.”", None, "")),
        ("I light it at", True, TrimmedAnswer("I light it at", "unfinished", "")),
        ("Yes. I light it at", True, TrimmedAnswer("Yes. I light it at", "unfinished", "")),
        ("我天天点灯。后来", True, TrimmedAnswer("我天天点灯。", "shortened", "后来")),
        ("", True, TrimmedAnswer("", "unfinished", "")),
    ],
)
def test_half_a_sentence_at_the_limit_is_taken_away(
    text: str, at_limit: bool, expected: TrimmedAnswer
) -> None:
    assert trim_to_last_sentence(text, at_limit=at_limit) == expected


@given(st.text(st.sampled_from("ab c.!?。你\n”"), max_size=80))
def test_what_is_kept_and_what_is_taken_are_the_whole(text: str) -> None:
    found = trim_to_last_sentence(text, at_limit=True)
    assert "".join((found.text + found.taken).split()) == "".join(text.split())
    assert (found.label == "shortened") == bool(found.taken)


def test_a_shortened_answer_is_clean_and_marked() -> None:
    (row,) = rolegpt_rows([said("A.", "shortened")])
    assert (row.part, row.sample["labels"]) == ("samples", ["shortened"])
