"""Who speaks next."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from helpers.hypotheses import examples
from helpers.scene_lines import BAKER_STREET, after, line, scene_with
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.scene.directors import DIRECTORS, NextSpeaker, Situation
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.scene import NARRATOR, Scene
from rolellm_agents.scene.turns import is_seat_line, last_speaker, random_for, turns
from rolellm_agents.scene.witness import present_in
from rolellm_agents.transcript.message import Kind

KINDS: tuple[Kind, ...] = ("say", "act", "whisper", "think", "narrate", "join", "leave")
SEATS = [*BAKER_STREET]
LINES = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from([*SEATS, NARRATOR]),
        st.sampled_from(["Well.", "Watson!", "Lestrade and Holmes.", "Nobody."]),
        st.lists(st.sampled_from(SEATS), max_size=2),
        st.booleans(),
    ),
    max_size=25,
)


def asked(kind: str, scene: Scene, lines: Sequence[SceneLine], seed: int = 1, **more: Any) -> NextSpeaker:
    present = more.get("present", present_in(scene, lines))
    situation = Situation(
        scene=scene,
        lines=lines,
        present=present,
        turn=len(turns(lines)),
        chance=random_for(seed, len(lines)),
    )
    return DIRECTORS[kind](situation)


def scene_of(kind: str, **told: Any) -> Scene:
    order = {"order": SEATS * 3} if kind == "scripted" else {}
    return scene_with(director={"kind": kind, **order}, **told)


def played(scene: Scene, happenings: list[Any]) -> list[SceneLine]:
    lines: list[SceneLine] = []
    for kind, speaker, text, to, person in happenings:
        lines = after(scene, lines, speaker, text, kind, to=to, **({"person": True} if person else {}))
    return lines


def run(kind: str, scene: Scene, turns_to_take: int, seed: int = 1) -> list[str]:
    lines: list[SceneLine] = []
    for number in range(turns_to_take):
        seat = asked(kind, scene, lines, seed).seat
        assert seat is not None
        lines = after(scene, lines, seat, f"Words {number}.")
    return [one["speaker"] for one in lines]


@examples(1.5)
@given(st.sampled_from(sorted(DIRECTORS)), LINES, st.integers(0, 99))
def test_a_director_never_names_anybody_who_is_not_there(
    kind: str, happenings: list[Any], seed: int
) -> None:
    scene = scene_of(kind)
    lines = played(scene, happenings)
    if present := present_in(scene, lines):
        choice = asked(kind, scene, lines, seed)
        assert choice.seat in (*present, None)
        assert choice.why.endswith(".")
        assert choice == asked(kind, scene, lines, seed)
        if kind in ("round-robin", "natural", "pooled"):
            assert choice.seat is not None


@examples(1.5)
@given(st.sampled_from(["round-robin", "natural", "pooled"]), LINES, st.integers(0, 99))
def test_nobody_answers_themselves_while_two_are_there(kind: str, happenings: list[Any], seed: int) -> None:
    scene = scene_of(kind)
    lines = played(scene, happenings)
    present = present_in(scene, lines)
    if len(present) > 1:
        assert asked(kind, scene, lines, seed).seat != last_speaker(lines)
    elif present:
        assert asked(kind, scene, lines, seed).seat == present[0]


def test_round_robin_goes_on_after_who_spoke_last_and_over_who_is_away() -> None:
    scene = scene_with()
    assert run("round-robin", scene, 5) == ["holmes", "watson", "lestrade", "holmes", "watson"]
    opened = [line("watson", opening=0)]
    assert asked("round-robin", scene, opened).seat == "lestrade"
    gone = after(scene, opened, "lestrade", "", "leave")
    assert asked("round-robin", scene, gone).seat == "holmes"


@pytest.mark.parametrize(
    ("text", "seat"),
    [
        ("What do you say, Watson?", "watson"),
        ("what do you say, watson?", "watson"),
        ("What do you say, Dr Watson?", "watson"),
        ("Lestrade is wrong, Watson.", "lestrade"),
        ("Watson's hat, Lestrade.", "watson"),
        ("*looks at Lestrade*", "lestrade"),
        ("沃森, Watson你好", "watson"),
    ],
)
def test_whoever_is_named_first_answers(text: str, seat: str) -> None:
    scene = scene_with(director="natural", watson={"talkativeness": 0}, lestrade={"talkativeness": 0})
    for seed in range(20):
        assert asked("natural", scene, [line("holmes", text)], seed).seat == seat


@pytest.mark.parametrize("text", ["The Watsonian view.", "The doctor is in.", "An inspector calls.", "12."])
def test_only_whole_words_of_a_name_call_somebody(text: str) -> None:
    scene = scene_with(director="natural")
    chosen = {asked("natural", scene, [line("holmes", text)], seed).seat for seed in range(40)}
    assert chosen == {"watson", "lestrade"}


def test_chinese_names_are_found_inside_the_words() -> None:
    names = {"wukong": "孙悟空", "bajie": "猪八戒", "libai": "李白"}
    scene = scene_with(names, language="zh")
    for text, seat in (
        ("我看李白说得对", "libai"),
        ("你怎么看，悟空？", "wukong"),
        ("孙悟空和李白", "wukong"),
    ):
        lines = [line("bajie", text, present=[*names])]
        assert {asked("natural", scene, lines, seed).seat for seed in range(20)} == {seat}


def test_a_name_that_is_a_word_too_calls_only_with_its_capital() -> None:
    names = {"mark": "Mark Renton", "spud": "Spud", "tommy": "Tommy"}
    scene = scene_with(names, mark={"talkativeness": 0})
    called = [line("spud", "Come on, Mark.", present=[*names])]
    mentioned = [line("spud", "We mark the spot.", present=[*names])]
    assert {asked("natural", scene, called, seed).seat for seed in range(20)} == {"mark"}
    assert "tommy" in {asked("natural", scene, mentioned, seed).seat for seed in range(20)}


def test_the_longest_name_is_meant_and_a_full_name_before_a_part() -> None:
    names = {
        "sparrow": "Jack Sparrow",
        "jack": "Jack",
        "liz": "Elizabeth",
        "bennet": "Mr Bennet",
        "eb": "Eliza Bennet",
    }
    scene = scene_with(names)
    for text, seat in (
        ("Well, Jack?", "jack"),
        ("Well, Jack Sparrow?", "sparrow"),
        ("Mr. Bennet!", "bennet"),
    ):
        lines = [line("liz", text, present=[*names])]
        assert {asked("natural", scene, lines, seed).seat for seed in range(20)} == {seat}


def test_whom_a_whisper_was_for_answers_whoever_it_names() -> None:
    scene = scene_with(watson={"talkativeness": 0}, lestrade={"talkativeness": 1})
    lines = [line("holmes", "Lestrade must not know.", "whisper", ["watson"])]
    assert {asked("natural", scene, lines, seed).seat for seed in range(20)} == {"watson"}


def test_a_thought_calls_nobody() -> None:
    scene = scene_with(watson={"talkativeness": 0}, lestrade={"talkativeness": 1})
    lines = [line("holmes", "Watson must not know.", "think")]
    assert {asked("natural", scene, lines, seed).seat for seed in range(20)} == {"lestrade"}


def test_what_happens_after_a_line_calls_before_it_and_else_leaves_it_standing() -> None:
    scene = scene_with()
    said = [line("holmes", "Well, Watson?")]
    assert asked("natural", scene, [*said, line(NARRATOR, "It rains.", "narrate")]).seat == "watson"
    called = line(NARRATOR, "Lestrade drops a cup.", "narrate")
    assert asked("natural", scene, [*said, called]).seat == "lestrade"


def test_who_was_named_but_is_away_is_not_waited_for() -> None:
    scene = scene_with(watson={"present": False})
    said = [line("holmes", "Well, Watson?", present=("holmes", "lestrade"))]
    assert asked("natural", scene, said).seat == "lestrade"


def test_unasked_the_talkative_speak_more_often_and_the_silent_not_while_others_talk() -> None:
    scene = scene_with(
        watson={"talkativeness": 0.9}, lestrade={"talkativeness": 0.1}, holmes={"talkativeness": 0}
    )
    said = [line("holmes", "It rains.")]
    chosen = Counter(asked("natural", scene, said, seed).seat for seed in range(2000))
    # By either order of asking, and half of those left when neither wants to: (.945 + .855) / 2.
    assert chosen["watson"] / 2000 == pytest.approx(0.9, abs=0.03)
    silent = scene_with(watson={"talkativeness": 0}, lestrade={"talkativeness": 0.001})
    assert {asked("natural", silent, said, seed).seat for seed in range(200)} == {"lestrade"}


def test_two_who_name_each_other_do_not_keep_the_floor_from_the_third() -> None:
    scene = scene_with(director="natural", lestrade={"talkativeness": 0.001})
    lines: list[SceneLine] = [line("holmes", "Watson?")]
    for _ in range(30):
        choice = asked("natural", scene, lines)
        assert choice.seat is not None
        text = {"holmes": "Watson?", "watson": "Holmes!", "lestrade": "Hm."}[choice.seat]
        lines = after(scene, lines, choice.seat, text)
    speakers = [one["speaker"] for one in lines]
    assert all("lestrade" in speakers[place : place + 7] for place in range(len(speakers) - 7))
    assert speakers.count("lestrade") <= 6
    silent = scene_with(director="natural", lestrade={"talkativeness": 0})
    assert asked("natural", silent, lines[:6]).seat != "lestrade"
    assert asked("natural", scene, lines[:5]).why == "Had no turn for 5 turns."


def test_all_silent_somebody_speaks_by_chance() -> None:
    scene = scene_with(**{seat: {"talkativeness": 0} for seat in SEATS})
    said = [line("holmes", "It rains.")]
    assert {asked("natural", scene, said, seed).seat for seed in range(60)} == {"watson", "lestrade"}


@examples(0.3)
@given(st.integers(2, 6), st.integers(0, 999), st.integers(1, 4))
def test_pooled_lets_everybody_speak_once_before_anybody_again(size: int, seed: int, rounds: int) -> None:
    names = {f"s{number}": f"Name{number}" for number in range(size)}
    spoken = run("pooled", scene_with(names), size * rounds, seed)
    for start in range(0, len(spoken), size):
        assert sorted(spoken[start : start + size]) == sorted(names)


def test_pooled_orders_differ() -> None:
    assert len({tuple(run("pooled", scene_with(), 3, seed)) for seed in range(60)}) == 6


def test_a_persons_line_begins_a_round_of_all_others() -> None:
    scene = scene_with()
    for seed in range(20):
        lines = [line("watson"), line("holmes"), line("lestrade", person=True)]
        first = asked("pooled", scene, lines, seed).seat
        second = asked("pooled", scene, [*lines, line(first or "")], seed).seat
        assert {first, second} == {"watson", "holmes"}


def test_a_script_is_gone_through_and_ends() -> None:
    scene = scene_with(director={"kind": "scripted", "order": ["watson", "holmes", "holmes"]})
    assert run("scripted", scene, 3) == ["watson", "holmes", "holmes"]
    ended = [line("watson"), line("holmes"), line("holmes")]
    assert asked("scripted", scene, ended).seat is None


def test_a_script_counts_turns_whoever_took_them_and_not_openings() -> None:
    scene = scene_with(director={"kind": "scripted", "order": ["watson", "holmes", "lestrade"]})
    opened = [line("holmes", opening=0), line("watson", opening=1)]
    assert asked("scripted", scene, opened).seat == "watson"
    assert asked("scripted", scene, [*opened, line("lestrade")]).seat == "holmes"


def test_a_script_leaves_out_who_is_away_says_so_and_does_not_come_back_to_them() -> None:
    order = ["holmes", "watson", "lestrade", "watson"]
    scene = scene_with(director={"kind": "scripted", "order": order}, watson={"present": False})
    lines = after(scene, [], "holmes")
    choice = asked("scripted", scene, lines)
    assert (choice.seat, "watson" in choice.why) == ("lestrade", True)
    lines = after(scene, after(scene, lines, "lestrade"), "watson", "", "join")
    assert asked("scripted", scene, lines).seat == "watson"
    assert asked("scripted", scene, after(scene, lines, "watson")).seat is None


def test_a_script_goes_on_behind_a_person_who_passed() -> None:
    order = ["holmes", "watson", "holmes", "lestrade"]
    scene = scene_with(director={"kind": "scripted", "order": order}, holmes={"person": True})
    passed = asked("scripted", scene, [], present=("watson", "lestrade"))
    assert passed.seat == "watson"
    lines = after(scene, [], "watson")
    assert asked("scripted", scene, lines).seat == "holmes"
    assert asked("scripted", scene, after(scene, lines, "holmes")).seat == "lestrade"


def test_a_manual_director_waits_to_be_told() -> None:
    assert asked("manual", scene_with(), [line("holmes", "Watson?")]).seat is None


def test_every_kind_that_needs_no_model_has_its_director() -> None:
    assert sorted(DIRECTORS) == ["manual", "natural", "pooled", "round-robin", "scripted"]


@given(LINES)
def test_turns_are_what_those_in_the_seats_did(happenings: list[Any]) -> None:
    lines = [line(NARRATOR, kind="narrate"), line("holmes", opening=0), *played(scene_with(), happenings)]
    taken = turns(lines)
    assert taken == [one for one in lines[2:] if one["kind"] in KINDS[:4] and one["speaker"] != NARRATOR]
    assert last_speaker(lines) == [one for one in lines if is_seat_line(one)][-1]["speaker"]
