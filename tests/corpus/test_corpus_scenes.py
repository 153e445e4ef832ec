"""The Markdown form of written scenes."""

from pathlib import Path

import pytest

from rolellm_agents.corpus.scenes import CorpusScene, read_corpus_scenes
from rolellm_agents.errors import CorpusError
from rolellm_agents.scene.view import history_for, instruction_for

HEAD = """\
# The last train
setting: A waiting room at midnight.
- sherlock-holmes | goal: Learn what is in the basket. | secret: It is his own.
- shrek | goal: Sit alone. | goal: Eat.
- jack-sparrow
"""
LINES = """
shrek: That bench is taken.
sherlock-holmes (thinks): Mud to the knee.
sherlock-holmes: *sits on the suitcase* I prefer to be opposite.
[jack-sparrow enters]
jack-sparrow (to shrek): He watches your basket.
narrator: The stove ticks.
shrek: *takes the basket on his lap*
[shrek leaves]
sherlock-holmes: Gone, and quickly.
"""


def read(folder: Path, text: str) -> list[CorpusScene]:
    file = folder / "ten.md"
    file.write_text(text, "utf-8")
    return read_corpus_scenes(file)


def test_a_scene_has_its_characters_and_each_line_its_kind_and_audience(tmp_path: Path) -> None:
    (scene,) = read(tmp_path, HEAD + LINES)
    assert scene.loaded.scene.id == "the-last-train"
    seats = scene.loaded.seats
    assert [seats[seat].present for seat in seats] == [True, True, False]
    assert (seats["shrek"].goals, seats["shrek"].secrets) == (("Sit alone.", "Eat."), ())
    assert [(line["speaker"], line["kind"], line["audience"]) for line in scene.lines] == [
        ("shrek", "say", ["sherlock-holmes", "shrek"]),
        ("sherlock-holmes", "think", ["sherlock-holmes"]),
        ("sherlock-holmes", "say", ["sherlock-holmes", "shrek"]),
        ("jack-sparrow", "join", ["jack-sparrow", "sherlock-holmes", "shrek"]),
        ("jack-sparrow", "whisper", ["jack-sparrow", "shrek"]),
        ("narrator", "narrate", ["jack-sparrow", "sherlock-holmes", "shrek"]),
        ("shrek", "act", ["jack-sparrow", "sherlock-holmes", "shrek"]),
        ("shrek", "leave", ["jack-sparrow", "sherlock-holmes", "shrek"]),
        ("sherlock-holmes", "say", ["jack-sparrow", "sherlock-holmes"]),
    ]
    assert scene.lines[6]["text"] == "takes the basket on his lap"


def test_what_somebody_reads_of_it_is_what_the_same_seat_would_read_in_a_played_scene(
    tmp_path: Path,
) -> None:
    (scene,) = read(tmp_path, HEAD + LINES)
    read_by = "\n".join(
        [
            instruction_for(scene.loaded, "sherlock-holmes", scene.lines),
            *(message.text for message in history_for(scene.loaded, "sherlock-holmes", scene.lines)),
        ]
    )
    assert "That bench is taken." in read_by
    assert "It is his own." in read_by
    assert "Sit alone." not in read_by
    assert "watches your basket" not in read_by


def test_a_file_holds_several_scenes(tmp_path: Path) -> None:
    second = HEAD.replace("The last train", "Another") + LINES
    assert [one.number for one in read(tmp_path, HEAD + LINES + "\n" + second)] == [1, 17]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("shrek: Hello.\n", "line 1 stands before the first “# TITLE”"),
        ("# A\nshrek: Hello.\n", "'A' needs a setting, characters and lines"),
        (HEAD + "po: Hello.\n", "line 6 names 'po', who is not in this scene"),
        (HEAD + "Shrek says hello.\n", "line 6 is none of"),
        (
            HEAD + "[jack-sparrow enters]\n[jack-sparrow enters]\n",
            "line 7: jack-sparrow enters, but is there already",
        ),
        (HEAD + "[shrek leaves]\nshrek: Hello.\n", "line 7: shrek is not there"),
        (HEAD + "shrek: Hm.\nshrek (to jack-sparrow): Hm.\n[jack-sparrow enters]\n", "who is not there"),
        (HEAD.replace("goal: Eat.", "aim: Eat."), "neither “goal: …” nor “secret: …”"),
        (HEAD.replace("- jack-sparrow", "- jack sparrow"), "is not of the form"),
    ],
)
def test_another_form_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(CorpusError, match=r"^ten\.md") as error:
        read(tmp_path, text)
    assert complaint in str(error.value)
