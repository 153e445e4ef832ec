"""Human labels are read from tables as spreadsheets save them."""

import json
from pathlib import Path

import pytest

from rolellm_agents.benchmarks.errors import BenchmarkError
from rolellm_agents.judging import JudgingError
from rolellm_agents.judging.human_labels import read_labels, some_of_each_aspect

HEAD = "persona,question,reply,score:Ana,score:Ben,aspect,judge:gpt-4"


def table(file: Path, *lines: str, encoding: str = "utf-8") -> Path:
    file.write_text("\r\n".join(lines) + "\r\n", encoding=encoding, newline="")
    return file


def test_annotators_and_published_judges_have_columns(tmp_path: Path) -> None:
    file = table(tmp_path / "people.csv", HEAD, 'shrek,Cold?,"Aye, ""cold"".",4,2.5,voice,3')
    [found] = read_labels(file)
    assert (found.persona, found.reply, found.aspect) == ("shrek", 'Aye, "cold".', "voice")
    assert found.by_person == {"Ana": 4.0, "Ben": 2.5}
    assert found.by_judge == {"gpt-4": 3.0}


def test_a_missing_cell_is_no_label(tmp_path: Path) -> None:
    file = table(tmp_path / "people.csv", HEAD, "shrek,Cold?,Aye.,4,,,", ",,,,,,", "shrek,Cold?,No.,,1,,")
    one, other = read_labels(file)
    assert (one.by_person, one.by_judge, other.by_person) == ({"Ana": 4.0}, {}, {"Ben": 1.0})


@pytest.mark.parametrize(("delimiter", "name"), [(";", "people.csv"), ("\t", "people.tsv"), (",", "P.CSV")])
def test_semicolons_and_tabs_separate_columns_too(tmp_path: Path, delimiter: str, name: str) -> None:
    lines = (delimiter.join(cells) for cells in (("persona", "question", "reply", "score"), "abc4"))
    [found] = read_labels(table(tmp_path / name, *lines, encoding="utf-8-sig"))
    assert (found.persona, found.reply, found.value) == ("a", "c", 4.0)


def test_pairs_conversations_and_characters_have_columns(tmp_path: Path) -> None:
    file = table(
        tmp_path / "people.csv",
        "character,description,language,turns,reply,other,preferred:Ana,judge:gpt-4",
        'Mira,"Keeps a light,\nand counts ships.",en,"[""Hello?"", ""Aye."", ""Who?""]",I.,AI.,reply,tie',
    )
    [found] = read_labels(file)
    assert found.described is not None
    assert found.described.description == "Keeps a light,\nand counts ships."
    assert [turn.text for turn in found.turns] == ["Hello?", "Aye.", "Who?"]
    assert (found.other, found.by_person, found.by_judge) == ("AI.", {"Ana": 1.0}, {"gpt-4": 0.5})


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (("persona,question,replly,score", "a,b,c,4"), "unknown column 'replly'.*reply"),
        (("persona,question,reply,score,score", "a,b,c,4,5"), "'score' twice"),
        (("persona,question,reply,score", "a,b,c,four"), "line 2: score: 'four' is not a number"),
        (("persona,question,reply,score", "a,b,c,nan"), "line 2: score"),
        (("persona,question,reply,score", "a,b,c,4,5"), "line 2: it has 5 cells for 4 columns"),
        (("persona,question,reply,score", '"a\nb",b,c,4', "a,b,,4"), "line 4: reply"),
        (("persona,turns,reply,score", "a,Hello,c,4"), "line 2: turns: it is not a JSON list"),
        (("persona,question,reply,score,judge:x", "a,b,c,4,tie"), "line 2: judges hold"),
        (("persona,question,reply,score,judge:", "a,b,c,4,1"), "unknown column 'judge:'"),
        (("persona,question,reply,score", 'a,b,"c"d,4'), "is not a table"),
        (("persona,question,reply,score",), "holds no labels"),
    ],
)
def test_a_table_that_cannot_be_read_is_told_with_its_place(
    tmp_path: Path, lines: tuple[str, ...], what: str
) -> None:
    with pytest.raises(JudgingError, match=what):
        read_labels(table(tmp_path / "people.csv", *lines))


def test_files_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes("persona,question,reply,score\na,b,Fräulein,4\n".encode("cp1252"))
    with pytest.raises(JudgingError, match="not UTF-8"):
        read_labels(tmp_path / "people.csv")
    with pytest.raises(JudgingError, match="cannot be read: No such file"):
        read_labels(tmp_path / "nowhere.csv")


def bench_row(number: int, **changes: object) -> dict[str, object]:
    """A row in the form of CharacterBench's files."""

    def part(text: str) -> dict[str, object]:
        turns = [("user", "Hi"), ("character", "Yes?"), ("user", text)]
        return {
            "character_name": f"{text} {number}",
            "character_profile": "Keeps a light.",
            "dialogue": [
                {"turn": turn, "speaker": speaker, "utterance": said}
                for turn, (speaker, said) in enumerate(turns)
            ],
            "response_messages": {"model": "m", "response": f"Reply {number}"},
        }

    return {
        **part("灯"),
        "translation_en": part("Lamp"),
        "annotation_score": number % 5 + 1,
        "pred_zh": 1.0,
        "pred_en": number,
        "pred_en_sc": None,
        "id": number,
        **changes,
    }


def test_the_files_of_characterbench_are_labels_with_their_judges(tmp_path: Path) -> None:
    for name in ("memory_consistency_test.json", "engagement_test.json"):
        (tmp_path / name).write_text(json.dumps([bench_row(one) for one in range(12)]), encoding="utf-8")
    found = read_labels(tmp_path)
    assert {one.aspect for one in found} == {"memory_consistency", "engagement"}
    assert len({one.key for one in found}) == 24
    first = found[0]
    assert (first.persona, first.reply, first.value, first.by_judge) == (
        "Lamp 0",
        "Reply 0",
        1.0,
        {"pred_en": 0.0},
    )
    assert [turn.speaker for turn in first.turns] == ["user", "persona", "user"]
    chinese = read_labels(tmp_path / "engagement_test.json", "zh")[3]
    assert chinese.described is not None
    assert (chinese.described.language, chinese.by_judge) == ("zh", {"pred_zh": 1.0})


def test_as_many_labels_of_each_aspect_are_drawn(tmp_path: Path) -> None:
    (tmp_path / "engagement_test.json").write_text(
        json.dumps([bench_row(one) for one in range(12)]), encoding="utf-8"
    )
    labels = read_labels(tmp_path)
    drawn = some_of_each_aspect(labels, 5, seed=1)
    assert len(drawn) == 5
    assert drawn == [one for one in labels if one in drawn]
    assert drawn == some_of_each_aspect(labels, 5, seed=1)
    assert drawn != some_of_each_aspect(labels, 5, seed=2)
    assert some_of_each_aspect(labels, 50, seed=1) == labels


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "holds no list of rows"),
        ("{", "is not JSON"),
        ('[{"a": 1}]', "row 1: .*is it a file of CharacterBench"),
        ("[3]", "row 1"),
        ('"text"', "holds no list of rows"),
    ],
)
def test_what_is_no_file_of_characterbench_is_named(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "x_test.json").write_text(text, encoding="utf-8")
    with pytest.raises(BenchmarkError, match=what):
        read_labels(tmp_path / "x_test.json")


def test_an_empty_folder_and_a_missing_language_are_named(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no JSON file"):
        read_labels(tmp_path)
    (tmp_path / "x_test.json").write_text(json.dumps([bench_row(1, translation_en=None)]), encoding="utf-8")
    with pytest.raises(BenchmarkError, match="no rows in the language 'en'"):
        read_labels(tmp_path)
