"""When a scene is over."""

import time

import pytest
from helpers.hypotheses import examples
from helpers.scene_lines import after, line, scene_with
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.scene import NARRATOR
from rolellm_agents.scene.stopping import ending

LONG = "The dog did nothing in the night-time, and that was the curious incident of which I spoke."


def fresh(count: int) -> list[SceneLine]:
    """Turns that say something new each."""
    words = ("rain", "fog", "smoke", "steam", "snow", "dust", "wind", "hail")
    return [
        line(("holmes", "watson")[number % 2], f"{words[number % 8]} {words[number // 8 % 8]} and {number}")
        for number in range(count)
    ]


@examples(0.3)
@given(st.integers(1, 40), st.integers(0, 45))
def test_a_scene_has_so_many_turns(turns: int, taken: int) -> None:
    told = ending(scene_with(stop={"turns": turns}), fresh(taken))
    assert bool(told) == (taken >= turns)


def test_narration_comings_goings_and_openings_are_no_turns() -> None:
    scene = scene_with(stop={"turns": 2})
    lines = [
        line("holmes", "I open.", opening=0),
        line(NARRATOR, "It rains.", "narrate"),
        line("watson", "I say one thing."),
        line("lestrade", "Lestrade goes.", "leave"),
    ]
    assert ending(scene, lines) is None
    assert ending(scene, [*lines, line("watson", "nods", "act")]) == "It has had its 2 turns."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Then it is goodbye.", "goodbye"),
        ("GOODBYE!", "GOODBYE"),
        ("This is the\nend.", "the end"),
        ("那就再见了。", "再见"),
    ],
)
def test_words_end_it_in_any_case_as_whole_words(text: str, words: str) -> None:
    scene = scene_with(stop={"said": ["goodbye", "the end", "再见"]})
    assert ending(scene, [line("holmes", text)]) == f"The words “{words}” were said."


@pytest.mark.parametrize("text", ["Goodbyes are hard.", "In the endless fog.", "The bend.", "再次相见。"])
def test_parts_of_other_words_do_not_end_it(text: str) -> None:
    scene = scene_with(stop={"said": ["goodbye", "the end", "再见"]})
    assert ending(scene, [line("holmes", text)]) is None


def test_words_count_whoever_says_or_whispers_them_but_nobody_who_thinks_them() -> None:
    scene = scene_with(stop={"said": ["goodbye"]})
    assert ending(scene, [line("watson", "Goodbye.", "whisper", ["holmes"])]) is not None
    assert ending(scene, [line("watson"), line(NARRATOR, "They say goodbye.", "narrate")]) is not None
    assert ending(scene, [line("watson", "I should say goodbye.", "think")]) is None


def test_words_count_when_they_are_said_and_not_in_the_opening() -> None:
    scene = scene_with(stop={"said": ["goodbye"]})
    opening = line("watson", "Goodbye, Baker Street.", opening=0)
    assert ending(scene, [opening]) is None
    assert ending(scene, [opening, line("holmes", "Not yet.")]) is None
    # Somebody had it go on.
    assert ending(scene, [line("watson", "Goodbye."), line("holmes", "Not yet.")]) is None


@pytest.mark.parametrize(
    "turns",
    [
        ["…", "...", "——"],
        [LONG, LONG + " Yes.", LONG.replace("curious", "odd")],
        ["Yes, sir.", "…", "yes, sir"],
        ["我不知道他在哪里，我什么都没看见。", "我不知道他在哪里，我什么也没看见！", "……"],
    ],
)
def test_turns_in_a_row_that_say_nothing_new_end_it(turns: list[str]) -> None:
    scene = scene_with(stop={"silent": 3})
    began = [
        line("holmes", LONG),
        line("holmes", "Yes, sir."),
        line("holmes", "我不知道他在哪里，我什么也没看见。"),
    ]
    silent = [line("holmes", text) for text in turns]
    assert ending(scene, [*began, *silent[:2]]) is None
    assert ending(scene, [*began, *silent]) == "Nothing new was said for 3 turns."
    assert ending(scene, [*began, *silent[:2], line("holmes", "But look there!")]) is None
    assert (
        ending(scene, [*began, *silent[:2], line(NARRATOR, "It rains.", "narrate"), silent[2]]) is not None
    )


def test_what_another_said_before_is_new_from_somebody_else() -> None:
    scene = scene_with(stop={"silent": 1})
    assert ending(scene, [line("holmes", LONG), line("watson", LONG)]) is None
    assert ending(scene, [line("holmes", LONG), line("watson", "So."), line("holmes", LONG)]) is not None


def test_a_scene_without_anybody_is_over() -> None:
    scene = scene_with({"ada": "Ada", "ben": "Ben"})
    lines = after(scene, after(scene, [], "ada", "", "leave"), "ben", "", "leave")
    assert ending(scene, lines) == "Nobody is present any more."
    assert ending(scene, lines[:1]) is None
    assert ending(scene, after(scene, lines, "ada", "", "join")) is None


def test_a_scene_that_has_not_begun_is_not_over() -> None:
    assert ending(scene_with(stop={"turns": 1, "silent": 1, "said": ["well"]}), []) is None


def test_long_scenes_are_looked_at_quickly() -> None:
    scene = scene_with(stop={"turns": 10_000, "said": ["goodbye"]})
    lines = [line("holmes", f"{number} " + "word " * 20_000 + str(number)) for number in range(200)]
    ending(scene, lines[:2])
    begun = time.process_time()
    assert ending(scene, lines) is not None
    assert time.process_time() - begun < 3
