"""Whatever happens in a scene, what is written of it is whole, in order, and tells no seat too much."""

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser

import pytest
from helpers.played_scene import SECRETS, play, tea_party
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.chat_files.recognising import conversations_in
from rolellm_agents.errors import SceneError
from rolellm_agents.scene import LoadedScene, SceneLine
from rolellm_agents.scene.export import SCENE_FORMATS, as_seen_by, write_novel, write_script

SEATS = ("ada", "baker", "cole", "dora")
NAMES = {seat: f"Name{seat}q" for seat in SEATS}
JUNK = st.text(alphabet="""*_()[]（）"'“”「」.!?…—,:;\n -<>&#$@{}\\`a。，\ue000\ue003\u202e""", max_size=8)


def stage(language: str) -> LoadedScene:
    cast = [
        {
            "id": seat,
            "name": name,
            "secrets": [secret],
            "knows": ["Hidden knowledge."],
            "goals": ["Hidden goal."],
            "about": "Hidden part.",
            "relations": {"ada": "Hidden feeling."},
            "present": seat != "dora",
            "person": seat == "baker",
        }
        for (seat, name), secret in zip(NAMES.items(), SECRETS, strict=True)
    ]
    return tea_party(language, cast=cast)


STAGES = {"en": stage("en"), "zh": stage("zh")}


@st.composite
def scenes(draw: st.DrawFn) -> tuple[LoadedScene, list[SceneLine]]:
    """Lines of which each has a word of its own among strange signs."""
    loaded = STAGES[draw(st.sampled_from(["en", "zh"]))]
    said = []
    for number in range(draw(st.integers(0, 9))):
        speaker = draw(st.sampled_from(["narrator", *SEATS]))
        kinds = ["say", "act", "whisper", "think", "join", "leave"]
        kind = "narrate" if speaker == "narrator" else draw(st.sampled_from(kinds))
        to = draw(st.lists(st.sampled_from(SEATS), max_size=2)) if kind == "whisper" else []
        said.append((speaker, kind, draw(JUNK) + word(number) + draw(JUNK), *to))
    return loaded, play(loaded, *said)


def word(number: int) -> str:
    return f"zq{number}x"


def words_in(text: str) -> list[str]:
    return re.findall(r"zq\d+x", text.casefold())


def words_of(lines: Sequence[SceneLine]) -> list[str]:
    return [found for line in lines for found in words_in(line["text"])]


@pytest.mark.parametrize("format_", SCENE_FORMATS)
@given(scene=scenes())
def test_everything_that_happened_is_told_once_in_order_and_always_the_same(
    format_: str, scene: tuple[LoadedScene, list[SceneLine]]
) -> None:
    write = SCENE_FORMATS[format_]  # type: ignore[index]

    text = write(*scene)

    assert words_in(text) == words_of(scene[1])
    assert write(*scene) == text


@pytest.mark.parametrize("format_", SCENE_FORMATS)
@given(scene=scenes(), seat=st.sampled_from(SEATS))
def test_what_a_seat_did_not_witness_is_nowhere_in_what_is_written_for_it(
    format_: str, scene: tuple[LoadedScene, list[SceneLine]], seat: str
) -> None:
    loaded, lines = scene
    seen = as_seen_by(loaded, lines, seat)

    text = SCENE_FORMATS[format_](loaded, seen)  # type: ignore[index]

    assert words_in(text) == words_of([line for line in lines if seat in line["audience"]])
    met = {
        one for line in lines if seat in line["audience"] for one in (line["speaker"], *line["audience"])
    }
    for other in set(SEATS) - met:
        assert NAMES[other].casefold() not in text.casefold()
    assert "Hidden" not in text
    assert not any(secret in text for secret in SECRETS)


def test_a_seat_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(SceneError, match=r"no seat 'bakker'.*; seats are ada, baker, cole, dora"):
        as_seen_by(tea_party(), [], "bakker")


@given(scenes())
def test_a_page_is_well_formed_and_words_bring_no_tags(scene: tuple[LoadedScene, list[SceneLine]]) -> None:
    checker = Nesting()
    checker.feed(write_novel(*scene))
    checker.close()

    assert checker.open == []
    assert checker.in_story <= {"p", "em", "hr", "br", "span"}
    assert checker.empty_paragraphs == 0


@given(scenes())
def test_a_script_has_a_block_for_each_line_and_no_more(scene: tuple[LoadedScene, list[SceneLine]]) -> None:
    loaded, lines = scene
    told = write_script(loaded, lines).partition("\n\n---\n\n")[2].rstrip("\n")

    blocks = told.split("\n\n") if told else []

    assert [words_in(block) for block in blocks] == [words_in(line["text"]) for line in lines]
    assert all(follower.startswith("    ") for block in blocks for follower in block.split("\n")[1:]), (
        "it looks as if somebody else spoke"
    )


@given(scenes())
def test_a_group_chat_comes_in_again_as_a_chat_with_every_message(
    scene: tuple[LoadedScene, list[SceneLine]],
) -> None:
    loaded, lines = scene
    if not lines:
        return
    text = SCENE_FORMATS["sillytavern"](loaded, lines)

    (found,) = conversations_in(text, "FILE")
    record = found.read("somebody")

    said = [json.loads(line)["mes"] for line in text.split("\n")[1:-1]]
    assert [message.text for message in record.messages] == said
    assert [bool(message.speaker == "user") for message in record.messages] == [
        line["speaker"] == "baker" and line["kind"] not in ("join", "leave") for line in lines
    ]


class Nesting(HTMLParser):
    """Whether tags are closed as they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.in_story: set[str] = set()
        self.empty_paragraphs = 0
        self._text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if "main" in self.open:
            self.in_story.add(tag)
        if tag not in ("meta", "hr", "br"):
            self.open.append(tag)
        self._text = "" if tag == "p" else self._text

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "p" and "main" in self.open and not self._text.strip():
            self.empty_paragraphs += 1

    def handle_data(self, data: str) -> None:
        self._text += data
