"""Plays, tagged and plain, and screenplays: who says what, and where."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.shared_texts import shared_text
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ScriptError
from rolellm_agents.scripts.play import read_play
from rolellm_agents.scripts.reading import read_script
from rolellm_agents.scripts.script import Script
from rolellm_agents.scripts.tagged import read_tagged
from rolellm_speed.scripts import SETTINGS, Setting, attributed_right, measure_script

TAGGED = """<?xml version="1.0"?>
<PLAY><TITLE>The Lamp</TITLE>
<PERSONAE><PERSONA>ADA, a keeper of the light.</PERSONA>
<PGROUP><PERSONA>BEN</PERSONA><PERSONA>COLE</PERSONA><GRPDESCR>sailors.</GRPDESCR></PGROUP></PERSONAE>
<ACT><TITLE>ACT I</TITLE><SCENE><TITLE>SCENE II. The stairs.</TITLE>
<STAGEDIR>Enter BEN</STAGEDIR>
<SPEECH><SPEAKER>BEN</SPEAKER><LINE>Who keeps the <STAGEDIR>Aside</STAGEDIR> lamp?</LINE></SPEECH>
<SPEECH><SPEAKER>ADA</SPEAKER><LINE>I do,</LINE><STAGEDIR>Rises</STAGEDIR><LINE>and alone.</LINE></SPEECH>
<SPEECH><SPEAKER>BEN</SPEAKER><SPEAKER>COLE</SPEAKER><LINE>We came by sea.</LINE></SPEECH>
</SCENE></ACT></PLAY>"""

TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><title>Die Lampe</title></teiHeader><text>
<body><div type="act"><head>Act 1</head><div type="scene"><head>Scene 1</head>
<sp who="#ada"><speaker>ADA.</speaker><stage>rises</stage><p>Come in, <hi>come</hi> in.</p></sp>
<sp who="#ben"><speaker>BEN.</speaker><lg><l>The sea is high,</l><l>the night is long.</l></lg></sp>
</div></div></body></text></TEI>"""

SCREENPLAY = """THE LAMP

INT. LIGHTHOUSE - NIGHT

ADA climbs the stairs with a can of oil.

                    ADA
               (to herself)
          Two hundred and four. Two hundred
          and five.

A knock.

                    BEN (O.S.)
          Is somebody up there? I have been
          shouting for an hour.

                    ADA
          The lamp is lit. Come up, if you can
          count.

EXT. LIGHTHOUSE - DAY

                    BEN
          Two hundred and ninety-nine!

                    ADA (CONT'D)
          You missed one.

CUT TO:
"""

GUTENBERG = """ACT I

SCENE I. A stair.

Enter ADA.

ADA.
Two hundred and four,
And five, and six.

[Knock within.]

BEN.
Is somebody up there?

ADA.
The lamp is lit.

BEN.
Then let me in.

Exit ADA.
"""

INLINE = """SCENE ONE

BEN. Who keeps the lamp?
ADA. (rising) I do, and alone,
as my mother did.
BEN. Then let me in.
ADA. Wipe your feet.
"""

CHINESE = """第一幕

甲：谁在上面看灯？
乙：（起身）是我，一个人看。
甲：那让我进来吧。
乙：先把脚擦干净。
"""


def said(script: Script) -> list[tuple[str, str]]:
    return [(passage.speaker, passage.speech) for passage in script.passages if passage.speech]


def plain(text: str) -> Script:
    script = read_play(text, "lamp", "en")
    assert script is not None
    return script


def test_tagged_speeches_without_their_stage_directions() -> None:
    script = read_tagged(TAGGED, "lamp.xml")
    assert said(script) == [
        ("BEN", "Who keeps the lamp?"),
        ("ADA", "I do, and alone."),
        ("BEN", "We came by sea."),
        ("COLE", "We came by sea."),
    ]
    assert (script.title, script.kind) == ("The Lamp", "tagged play")
    assert script.passages[1].place == "Act I, Scene II, speech 1"
    assert script.cast == {
        "ADA": "a keeper of the light",
        "BEN": "one of the sailors",
        "COLE": "one of the sailors",
    }


def test_tei_drama_is_read_too() -> None:
    script = read_tagged(TEI, "lampe.xml")
    assert said(script) == [("ADA", "Come in, come in."), ("BEN", "The sea is high, the night is long.")]
    assert script.passages[0].place == "Act 1, Scene 1, speech 1"


def test_entities_and_damage_are_refused() -> None:
    bomb = '<!DOCTYPE p [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><PLAY><SPEECH>&b;</SPEECH></PLAY>'
    with pytest.raises(ScriptError, match="declares XML entities"):
        read_tagged(bomb, "bomb.xml")
    with pytest.raises(ScriptError, match="is damaged XML"):
        read_tagged(TAGGED[:-20], "cut.xml")


def test_a_screenplay() -> None:
    script = plain(SCREENPLAY)
    assert said(script) == [
        ("ADA", "Two hundred and four. Two hundred and five."),
        ("BEN", "Is somebody up there? I have been shouting for an hour."),
        ("ADA", "The lamp is lit. Come up, if you can count."),
        ("BEN", "Two hundred and ninety-nine!"),
        ("ADA", "You missed one."),
    ]
    assert script.title == "THE LAMP"
    assert [passage.scene for passage in script.passages if passage.speech] == [0, 0, 0, 1, 1]
    assert script.passages[-1].place.startswith("EXT. LIGHTHOUSE - DAY, line")


@pytest.mark.parametrize("text", [GUTENBERG, INLINE])
def test_plays_in_print(text: str) -> None:
    script = plain(text)
    speakers = [speaker for speaker, _ in said(script)]
    assert set(speakers) == {"ADA", "BEN"}
    assert ("BEN", "Then let me in.") in said(script)
    assert not any("rising" in words or "Knock" in words or "Exit" in words for _, words in said(script))


def test_verse_goes_on_over_lines() -> None:
    assert ("ADA", "Two hundred and four, And five, and six.") in said(plain(GUTENBERG))
    assert ("ADA", "I do, and alone, as my mother did.") in said(plain(INLINE))


def test_a_chinese_play() -> None:
    script = read_play(CHINESE, "灯", "zh")
    assert script is not None
    assert said(script) == [
        ("甲", "谁在上面看灯？"),
        ("乙", "是我，一个人看。"),
        ("甲", "那让我进来吧。"),
        ("乙", "先把脚擦干净。"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Dear Sir. I write to you. Mr. Smith is ill. Mr. Jones is not. Yours. A. B.",
        "# Notes\n\nTODO: one\nTODO: two\n\nA long text in which nobody says anything at all to anyone.\n"
        * 3,
        "",
    ],
)
def test_what_is_no_play_is_none(text: str) -> None:
    assert read_play(text, "x", "en") is None


@given(st.text(alphabet="ABab .:\n()[]“”\"'—", max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    script = read_play(text, "x", "en")
    for passage in script.passages if script else ():
        assert bool(passage.speaker) == bool(passage.speech)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("play", ["hamlet", "macbeth", "r_and_j"])
def test_a_plain_play_gives_its_speeches_to_those_whom_the_tags_name(play: str, setting: Setting) -> None:
    assert attributed_right(read_script(shared_text(f"{play}.xml")), setting) >= 0.97


def test_a_wrong_speaker_is_counted_as_wrong() -> None:
    """What measures the share cannot be satisfied by anything."""
    script = read_tagged(TAGGED.replace("COLE", "BEN") * 1, "lamp.xml")
    swapped = replace(
        script,
        passages=tuple(
            replace(passage, speaker="X" * bool(passage.speaker)) for passage in script.passages
        ),
    )
    assert attributed_right(swapped, "name above") == 0


def test_hamlet_is_read_whole() -> None:
    script = read_script(shared_text("hamlet.xml"))
    speakers = script.speakers()
    assert speakers["HAMLET"] == 359
    assert script.cast["HAMLET"].startswith("son to the late")
    assert len({passage.scene for passage in script.passages}) == 20


def test_an_addressee_is_who_spoke_before_or_answers(tmp_path: Path) -> None:
    file = tmp_path / "lamp.xml"
    file.write_text(TAGGED)
    speeches = [passage for passage in read_script(file).passages if passage.speech]
    assert [passage.to for passage in speeches] == ["ADA", "BEN", "ADA", "BEN"]


def test_what_is_measured_of_a_play(tmp_path: Path) -> None:
    file = tmp_path / "lamp.xml"
    file.write_text(TAGGED)
    found = measure_script(file)
    assert (found["kind"], found["speeches"], found["speakers"], found["with_speaker"]) == (
        "tagged play",
        4,
        3,
        1.0,
    )
    assert found["by_named"] == 4
    assert "right_from_screenplay" in found
