"""Files of any kind: what they are is found out, and what is none is told in a sentence."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolellm_agents.errors import ScriptError
from rolellm_agents.scripts.reading import read_script

SRT = """1
00:00:01,000 --> 00:00:03,000
JOHN: Who keeps
the lamp?

2
00:00:03,200 --> 00:00:05,000
It has been dark all week.

3
00:00:05,100 --> 00:00:07,000
- MARY: I do.
- JOHN: Alone?

4
00:00:30,000 --> 00:00:32,000
[door slams] MARY: Good night.
"""

VTT = """WEBVTT

00:01.000 --> 00:03.000
<v John>Who keeps the lamp?

00:04.000 --> 00:06.000
<v Mary>I do, alone.
"""

ASS = """[Script Info]
ScriptType: v4.00+

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.00,0:00:02.00,Default,John,0,0,0,,Who keeps the lamp?
Dialogue: 0,0:00:03.00,0:00:04.00,Default,Mary,0,0,0,,{\\i1}I do.{\\i0}
"""


def read(tmp_path: Path, content: str | bytes, name: str = "script.txt") -> list[tuple[str, str]]:
    file = tmp_path / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return [(passage.speaker, passage.speech) for passage in read_script(file).passages if passage.speech]


def test_subtitles_with_names(tmp_path: Path) -> None:
    assert read(tmp_path, SRT) == [
        ("JOHN", "Who keeps the lamp? It has been dark all week."),
        ("MARY", "I do."),
        ("JOHN", "Alone?"),
        ("MARY", "Good night."),
    ]
    file = tmp_path / "script.txt"
    assert read_script(file).passages[-1].scene == 1
    assert read_script(file).passages[-1].place == "0:00:30"


@pytest.mark.parametrize("text", [VTT, ASS])
def test_subtitles_of_other_kinds(tmp_path: Path, text: str) -> None:
    assert [speaker for speaker, _ in read(tmp_path, text)] == ["JOHN", "MARY"]


def test_subtitles_without_names_are_told(tmp_path: Path) -> None:
    bare = SRT.replace("JOHN: ", "").replace("MARY: ", "")
    with pytest.raises(ScriptError, match="name the speakers"):
        read(tmp_path, bare)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_found_out(tmp_path: Path, encoding: str) -> None:
    play = (
        "SCENE ONE\n\n"
        + "BEN. Où est la lampe, “Ada”? Déjà éteinte, hélas.\nADA. Là-bas, près du café.\n" * 4
    )
    lines = read(tmp_path, play.encode(encoding))
    assert lines[1] == ("ADA", "Là-bas, près du café.")


def test_chinese_encodings_are_found_out(tmp_path: Path) -> None:
    play = (
        "第一幕\n\n"
        + "甲：谁在上面看灯？这盏灯已经灭了七天了。\n乙：是我一个人在看，从前是我母亲看的。\n" * 6
    )
    assert read(tmp_path, play.encode("gb18030"))[0] == ("甲", "谁在上面看灯？这盏灯已经灭了七天了。")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0" * 9, "is not"),
        (b"%PDF-1.7\n...", "is not plain text"),
        (b"PK\x03\x04....", "is not"),
        (b"It rained all day. " * 99, "is not a script"),
    ],
)
def test_what_is_no_script_is_told(tmp_path: Path, content: bytes, told: str) -> None:
    with pytest.raises(ScriptError, match=told):
        read(tmp_path, content)


def test_a_missing_and_a_huge_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="There is no file"):
        read_script(tmp_path / "nothing.txt")
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(20_000_001)
    with pytest.raises(ScriptError, match="has 20 MB, and at most 20 are read"):
        read_script(tmp_path / "huge.txt")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_any_bytes_are_a_script_or_a_sentence(tmp_path: Path, content: bytes) -> None:
    try:
        speeches = read(tmp_path, content)
    except ScriptError as error:
        told = str(error)
    else:
        told = "script.txt" if speeches else ""
    assert "script.txt" in told


def test_five_megabytes_of_novel_are_read(tmp_path: Path) -> None:
    chapter = "Chapter {n}\n\n" + (
        '"Where is the lamp?" asked Anna.\n\n"Upstairs," said Tom.\n\nThey went up the stairs, {w}.\n\n'
        * 60
    )
    text = "".join(chapter.format(n=n, w="slowly " * 30) for n in range(300))
    assert len(text) > 5_000_000
    lines = read(tmp_path, text)
    assert len(lines) == 2 * 60 * 300
    assert {speaker for speaker, _ in lines} == {"Anna", "Tom"}
