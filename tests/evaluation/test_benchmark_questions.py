"""What a benchmark asks."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.hypotheses import examples
from helpers.samples import row, sample, written_rows
from helpers.shared_data import shared_data
from helpers.small_rolebench import write_data
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets import Sample
from rolellm_agents.datasets.held_out import HELD_OUT_ROLES, LEARNED_IN_GENERAL, is_held_out
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.evaluation.questions import KINDS, draw_sample, published_replies, read_questions

ENGLISH = "rolebench-eng/instruction-generalization"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Ada and a role that is held out, asked in both kinds, with training and RoleGPT's answers."""
    sparrow = "Jack Sparrow"
    return write_data(
        tmp_path,
        test=[
            sample("Ada", "One?", "1"),
            sample(sparrow, "Two?", "2"),
            sample("Ada", "Name it.", "3", kind="general"),
        ],
        train=[
            sample("Ada", "Four?", "4"),
            sample(sparrow, "Five?", "5"),
            sample(sparrow, "Call it.", "6", kind="general"),
        ],
        baseline=[sample("Ada", "One?", "uno"), sample(sparrow, "Five?", "cinque")],
    )


def asked(samples: tuple[Sample, ...]) -> list[str]:
    return [one.question for one in samples]


def test_a_split_is_its_test_with_what_lies_beside_it(data: Path) -> None:
    found = read_questions(data, "instruction-generalization", KINDS, "en")
    assert asked(found.asked) == ["One?", "Two?", "Name it."]
    assert asked(found.training) == ["Four?", "Five?", "Call it."]
    assert asked(found.published) == ["One?", "Five?"]
    assert (found.made_from, found.notes) == ("", ())


def test_training_is_of_both_kinds_whichever_is_asked(data: Path) -> None:
    found = read_questions(data, "instruction-generalization", ("general",), "en")
    assert asked(found.asked) == ["Name it."]
    assert asked(found.training) == ["Four?", "Five?", "Call it."]


def test_without_its_files_role_generalization_is_made_of_the_held_out_roles(data: Path) -> None:
    found = read_questions(data, "role-generalization", KINDS, "en")
    assert asked(found.asked) == ["Two?", "Five?", "Call it."]  # of training, too
    assert asked(found.training) == ["Four?"]  # nobody who is asked
    assert found.made_from == (
        f"{data} has no files of role-generalization; the test is made of the rows of 1 held-out roles in "
        "the files of instruction-generalization."
    )


def test_with_its_files_role_generalization_is_what_they_hold(data: Path) -> None:
    written_rows(
        data / "rolebench-eng" / "role-generalization" / "role_specific" / "test.jsonl",
        [row(role="Tom Ripley", question="Six?")],
    )
    found = read_questions(data, "role-generalization", KINDS, "en")
    assert (asked(found.asked), found.training, found.made_from) == (["Six?"], (), "")
    assert found.notes == (f"{data} holds no general questions of role-generalization.",)


def test_without_files_and_without_held_out_roles_it_is_told_what_to_do(tmp_path: Path) -> None:
    write_data(tmp_path, test=[sample("Ada", "One?")])
    with pytest.raises(RoleBenchError, match="none of its held-out roles; name the folder that holds them"):
        read_questions(tmp_path, "role-generalization", KINDS, "en")


def test_a_kind_that_is_not_there_is_told_and_one_that_was_asked_for_is_missed(tmp_path: Path) -> None:
    write_data(tmp_path, test=[sample("Ada", "One?")])
    found = read_questions(tmp_path, "instruction-generalization", KINDS, "en")
    assert asked(found.asked) == ["One?"]
    assert found.notes == (f"{tmp_path} holds no general questions of instruction-generalization.",)
    with pytest.raises(RoleBenchError, match=f"holds no {ENGLISH}/general/test.jsonl"):
        read_questions(tmp_path, "instruction-generalization", ("general",), "en")
    with pytest.raises(RoleBenchError, match="holds no rolebench-zh/"):
        read_questions(tmp_path, "instruction-generalization", KINDS, "zh")


def test_rows_that_say_another_language_are_left_out_and_counted(tmp_path: Path) -> None:
    file = tmp_path / ENGLISH / "role_specific" / "test.jsonl"
    written_rows(
        file, [row(), row(question="你是谁？", language="zh"), row(question="Why?", language="en")]
    )
    found = read_questions(tmp_path, "instruction-generalization", KINDS, "en")
    assert asked(found.asked) == ["Who keeps the lamp?", "Why?"]
    assert found.notes[-1] == "1 questions are in another language than 'en' and were left out."
    written_rows(file, [row(question="你是谁？", language="zh")])
    with pytest.raises(RoleBenchError, match="No question is in 'en'"):
        read_questions(tmp_path, "instruction-generalization", KINDS, "en")


def test_rolegpts_answers_are_found_by_role_and_question_each_for_its_own_row() -> None:
    questions = [
        sample("Ada", "One?"),
        sample("Ada", "One?", "another reference"),
        sample("Ben", "One?"),
        sample("Ada", "One?", kind="general"),
        sample("Dr Who", "Two  now?"),
        sample("Ada", "One?", "a third"),
    ]
    published = [
        sample("Ada", "One?", "first"),
        sample("Ada", "One?", "second"),
        sample("Dr. Who", " Two now?", "third"),
    ]
    assert published_replies(questions, published) == ["first", "second", None, None, "third", "second"]


def mixed(count: int) -> list[Sample]:
    """Three questions without a script for each one from a script, four roles, both kinds."""
    return [
        replace(
            sample(
                f"Role {number % 4}", f"{number}?", kind="general" if number % 10 == 9 else "role_specific"
            ),
            types=("script_based",) if number % 16 < 4 else ("script_agnostic",),
        )
        for number in range(count)
    ]


@examples(0.3)
@given(count=st.integers(0, 400), limit=st.integers(1, 100), seed=st.integers(0, 2**32))
def test_a_limit_draws_types_and_roles_in_their_shares(count: int, limit: int, seed: int) -> None:
    samples = mixed(count)
    drawn = draw_sample(samples, limit, seed=seed)
    assert draw_sample(samples, limit, seed=seed) == drawn
    assert [one for one in samples if one in drawn] == drawn
    for kind in KINDS:
        there, taken = ([one for one in some if one.kind == kind] for some in (samples, drawn))
        assert len(taken) == min(limit, len(there))
        for stratum in {one.types for one in there}:
            expected = sum(one.types == stratum for one in there) * len(taken) / len(there)
            assert abs(sum(one.types == stratum for one in taken) - expected) <= 1
            for role in {one.role for one in there}:
                expected = sum((one.types, one.role) == (stratum, role) for one in there)
                expected *= len(taken) / len(there)
                assert abs(sum((one.types, one.role) == (stratum, role) for one in taken) - expected) <= 1


def test_each_sample_is_drawn_as_often_as_another() -> None:
    samples = [one for one in mixed(40) if one.kind == "role_specific"]
    times = Counter(one.question for seed in range(2_000) for one in draw_sample(samples, 9, seed=seed))
    assert set(times) == {one.question for one in samples}
    # 500 are expected, with a standard deviation below 20.
    assert all(abs(count - 500) < 100 for count in times.values())


def test_no_limit_takes_all() -> None:
    assert draw_sample(mixed(20), None, seed=1) == mixed(20)


def test_ten_roles_are_held_out_however_their_names_are_written() -> None:
    assert len(set(map(role_key, HELD_OUT_ROLES))) == 10
    assert is_held_out("professor g h dorr")
    assert not is_held_out("Shrek")
    assert not is_held_out("Jack")  # a role of its own in the data


def test_two_of_them_are_learned_in_general_rows_and_in_no_others() -> None:
    assert [role for role in HELD_OUT_ROLES if not is_held_out(role, "general")] == [*LEARNED_IN_GENERAL]
    assert all(is_held_out(role) for role in HELD_OUT_ROLES)


def test_four_of_them_are_in_the_shared_part() -> None:
    data = shared_data("rolebench")
    found = read_questions(data, "role-generalization", KINDS, "en")
    roles = Counter((one.kind, one.role) for one in found.asked)
    names = ("Jack Sparrow", "John Keating", "Professor G.H. Dorr", "Walt Kowalski")
    assert {
        role: number for (kind, role), number in roles.items() if kind == "role_specific"
    } == dict.fromkeys(names, 45)
    # The general rows of the other two may be learned.
    assert {role: number for (kind, role), number in roles.items() if kind == "general"} == {
        "Jack Sparrow": 500,
        "Professor G.H. Dorr": 500,
    }
    assert Counter(one.kind for one in found.training) == {"role_specific": 3_400, "general": 906}
    assert not any(is_held_out(one.role, one.kind) for one in found.training)
