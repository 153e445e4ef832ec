"""Segments: nothing lost, nothing too long, cut where something ends."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.generation.segments import (
    SourceSegment,
    demonstration_segments,
    description_segments,
    knowledge_segments,
    script_segments,
    sentences_of,
    spread,
)
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.scripts.script import Script, ScriptPassage
from rolellm_agents.text import estimated_tokens

TEXT = st.text(st.sampled_from('abc dé. !?\n。！你好灯"”'), max_size=400)
SAID = st.tuples(st.sampled_from(["ADA", "BEN", ""]), TEXT.filter(str.strip), st.integers(0, 3))


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


def told(segments: list[SourceSegment]) -> str:
    return bare("".join(line.text for segment in segments for line in segment.lines))


def script_of(said: list[tuple[str, str, int]]) -> Script:
    passages = [
        ScriptPassage(text, f"speech {number}", scene, speaker, text)
        for number, (speaker, text, scene) in enumerate(sorted(said, key=lambda one: one[2]))
    ]
    return Script("A play", "play", "en", tuple(passages))


@given(st.lists(SAID, max_size=12), st.integers(50, 200))
def test_the_segments_of_a_script_hold_every_scene_in_which_the_role_speaks_up_to_its_size(
    said: list[tuple[str, str, int]], most: int
) -> None:
    script = script_of(said)
    segments = script_segments(script, ["ADA", "BEN", ""], most=most)
    assert told(segments) == bare("".join(passage.text for passage in script.passages))
    for segment in segments:
        assert estimated_tokens(segment.text) <= most
        scenes = {script.passages[int(line.place.split()[1])].scene for line in segment.lines}
        assert len(scenes) == 1
    own = script_segments(script, ["ADA"], most=most)
    assert all(any(line.heading == "ADA" for line in segment.lines) for segment in own)
    assert [one.number for one in own] == [*range(len(own))]


@given(TEXT)
def test_sentences_put_together_are_the_text(text: str) -> None:
    assert "".join(sentences_of(text)) == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Mr. Holmes met Dr. Watson. They left.", 2),
        ("She lives in St. Ives, says J. R. Smith.", 1),
        ("“Go!” he said. “Now.”", 3),
        ("你好。再见！走吧", 3),
        ("A title\nA sentence.", 2),
        ("Version 2.0 is out. Good.", 2),
        ("", 0),
    ],
)
def test_a_sentence_ends_where_it_ends(text: str, count: int) -> None:
    assert len(sentences_of(text)) == count


@pytest.mark.parametrize("most", [50, 300])
def test_a_profile_is_cut_piece_by_piece_and_knows_its_places(most: int) -> None:
    long = "The lamp must be lit at dusk. " * 60
    persona = Persona(
        id="ada",
        name="Ada",
        description="Ada keeps a lighthouse. " * 30,
        catchphrases=("Upon my oath",),
        demonstrations=(
            Demonstration(user="Who are you?", reply="Ada, upon my oath."),
            Demonstration(user="Is it cold?", reply=long.strip(), place="Act 2"),
        ),
        knowledge=(
            Knowledge(title="The lamp", text=long.strip()),
            Knowledge(title="Ben", text="A friend."),
        ),
    )
    knowledge = knowledge_segments(persona, most=most)
    assert told(knowledge) == bare(long + "A friend.")
    assert knowledge[-1].text == "Ben: A friend."
    assert {line.place for line in knowledge[-1].lines} == {"Ben"}
    shown = demonstration_segments(persona, most=most)
    assert told(shown) == bare("Who are you?" + "Ada, upon my oath." + "Is it cold?" + long)
    assert shown[0].text == "Somebody: Who are you?\nAda: Ada, upon my oath."
    assert shown[-1].lines[0].place == "Act 2"
    about = description_segments(persona, most=most)
    assert about[-1].lines[-1].shown == "Ada: Upon my oath"
    for segment in [*knowledge, *shown, *about]:
        assert estimated_tokens(segment.text) <= most


def test_a_name_before_a_speech_is_not_said_twice() -> None:
    script = Script(
        "A play",
        "play",
        "en",
        (ScriptPassage("ADA. Who is there?", "speech 1", 0, "ADA", "Who is there?"),),
    )
    (segment,) = script_segments(script, ["ADA"], most=50)
    assert segment.text == "ADA: Who is there?"


def test_a_character_without_anything_but_a_line_has_one_segment() -> None:
    persona = Persona(id="ada", name="Ada", description="Ada.")
    assert knowledge_segments(persona, most=50) == demonstration_segments(persona, most=50) == []
    assert [segment.text for segment in description_segments(persona, most=50)] == ["Ada."]


@given(st.integers(0, 3_000))
def test_every_number_comes_once_and_any_beginning_is_spread(count: int) -> None:
    order = spread(count)
    assert sorted(order) == [*range(count)]
    for first in (4, 16, 64):
        if first < count:
            held = sorted(order[:first])
            gaps = [b - a for a, b in zip([-1, *held], [*held, count], strict=True)]
            assert max(gaps) <= 4 * count / first + 1
