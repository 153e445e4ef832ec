"""Who witnesses what, and chance that does not depend on what came before it."""

import random

import pytest
from helpers.hypotheses import examples
from helpers.scene_lines import BAKER_STREET, line, scene_with
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.message_kinds import BUILT_IN
from rolellm_agents.scene.scene import NARRATOR
from rolellm_agents.scene.turns import random_for, seed_for
from rolellm_agents.scene.witness import audience_of, present_in, witnessed
from rolellm_agents.transcript.message import Kind

SEATS = ("ada", "ben", "cid", "dot")
SCENE = scene_with({seat: seat.title() for seat in SEATS}, dot={"present": False})
KINDS: tuple[Kind, ...] = ("say", "act", "whisper", "think", "narrate", "join", "leave")
HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from([*SEATS, NARRATOR]),
        st.lists(st.sampled_from([*SEATS, NARRATOR, "stranger"]), max_size=3),
    ),
    max_size=30,
)


def played(happenings: list[tuple[Kind, str, list[str]]]) -> list[SceneLine]:
    """Each happening a line whose words stand nowhere else."""
    lines: list[SceneLine] = []
    for number, (kind, speaker, to) in enumerate(happenings):
        lines.append(line(speaker, f"canary-{number};", kind, to, present=present_in(SCENE, lines)))
    return lines


@examples(1.5)
@given(HAPPENINGS)
def test_whispers_and_thoughts_are_witnessed_by_nobody_but_whom_they_are_for(
    happenings: list[tuple[Kind, str, list[str]]],
) -> None:
    lines = played(happenings)
    for seat in SEATS:
        seen = "".join(one["text"] for one in witnessed(lines, seat))
        for number, (kind, speaker, to) in enumerate(happenings):
            there = present_in(SCENE, lines[:number])
            is_for = seat == speaker or {
                "think": False,
                "whisper": seat in to and seat in there,
            }.get(kind, seat in there)
            assert (f"canary-{number};" in seen) == is_for


@given(HAPPENINGS)
def test_who_is_there_are_those_who_came_and_did_not_leave(
    happenings: list[tuple[Kind, str, list[str]]],
) -> None:
    lines = played(happenings)
    there = present_in(SCENE, lines)
    assert [*there] == [seat for seat in SEATS if seat in there]
    for seat in SEATS:
        moves = [
            one["kind"] for one in lines if one["speaker"] == seat and one["kind"] in ("join", "leave")
        ]
        assert (seat in there) == (moves[-1] == "join" if moves else seat != "dot")


@given(HAPPENINGS)
def test_the_narrator_is_no_witness_and_views_keep_the_order(
    happenings: list[tuple[Kind, str, list[str]]],
) -> None:
    lines = played(happenings)
    assert witnessed(lines, NARRATOR) == []
    for seat in SEATS:
        seen = witnessed(lines, seat)
        assert seen == [one for one in lines if one in seen]


def test_somebody_who_comes_sees_nothing_of_before_and_somebody_who_left_nothing_of_after() -> None:
    lines = played(
        [
            ("say", "ada", []),
            ("join", "dot", []),
            ("say", "ada", []),
            ("leave", "dot", []),
            ("say", "ada", []),
        ]
    )
    assert [one["text"] for one in witnessed(lines, "dot")] == ["canary-1;", "canary-2;", "canary-3;"]
    assert [one["text"] for one in witnessed(lines, "ben")] == [f"canary-{number};" for number in range(5)]


@pytest.mark.parametrize(
    ("kind", "to", "heard"),
    [
        ("say", (), ("ada", "ben", "cid")),
        ("say", ("ben",), ("ada", "ben", "cid")),
        ("whisper", ("ben",), ("ada", "ben")),
        ("whisper", ("dot",), ("ada",)),
        ("whisper", (), ("ada",)),
        ("think", ("ben",), ("ada",)),
    ],
)
def test_an_audience_is_those_who_are_there_and_meant(
    kind: Kind, to: tuple[str, ...], heard: tuple[str, ...]
) -> None:
    assert audience_of(BUILT_IN[kind], "ada", to, ("ada", "ben", "cid")) == heard


def test_what_the_narrator_whispers_reaches_only_whom_it_is_for() -> None:
    assert audience_of(BUILT_IN["whisper"], NARRATOR, ("ben",), ("ada", "ben")) == ("ben",)


@given(
    st.integers(0, 2**40), st.lists(st.integers(0, 99) | st.sampled_from(list(BAKER_STREET)), max_size=4)
)
def test_a_decision_has_its_own_chance_whatever_was_drawn_before(seed: int, about: list[int | str]) -> None:
    first = random_for(seed, *about).random()
    random.random()
    random_for(seed, "another").random()
    assert random_for(seed, *about).random() == first
    assert 0 <= seed_for(seed, *about) < 2**31


def test_seeds_differ_by_the_scene_and_by_what_they_are_for() -> None:
    about = [(), (1,), (2,), (1, 2), (12,), ("a", "b"), ("ab",), ("b", "a")]
    assert len({seed_for(seed, *one) for seed in range(50) for one in about}) == 50 * len(about)
