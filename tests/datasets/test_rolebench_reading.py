"""RoleBench's files: where they are, and what is in them."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from helpers.hypotheses import examples
from helpers.shared_data import shared_data
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.datasets import Kind, Part, Sample, Split, find_file, read_samples
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text.language import Language


def row(**fields: Any) -> dict[str, Any]:
    return {"role": "Ada", "question": "Who keeps the lamp?", "generated": ["I do."], **fields}


def written(file: Path, *rows: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return file


ENGLISH = Path("rolebench-eng")
INSTRUCTIONS = Path("instruction-generalization")


def test_a_row_becomes_a_sample(tmp_path: Path) -> None:
    file = written(
        tmp_path / ENGLISH / INSTRUCTIONS / "role_specific" / "test.jsonl",
        row(generated=["I do.", "My father did."], type=["script_based", "script_agnostic"]),
        row(role="Ben", type="script_agnostic"),
    )
    assert read_samples(file) == [
        Sample(
            role="Ada",
            question="Who keeps the lamp?",
            references=("I do.", "My father did."),
            kind="role_specific",
            types=("script_based", "script_agnostic"),
            language="en",
        ),
        Sample("Ben", "Who keeps the lamp?", ("I do.",), "role_specific", ("script_agnostic",), "en"),
    ]


@pytest.mark.parametrize(
    ("fields", "references", "types"),
    [
        ({"type": "script_based"}, ("I do.",), ("script_based",)),
        ({"type": ["script_based"]}, ("I do.",), ("script_based",)),
        ({"type": []}, ("I do.",), ()),
        ({"type": None}, ("I do.",), ()),
        ({}, ("I do.",), ()),
        ({"generated": [" I do.", "\n\tI."]}, ("I do.", "I."), ()),
        # White space at the end counts in the published figures.
        ({"generated": [" I do. "]}, ("I do. ",), ()),
        # What goes with an empty reference goes with it; one type for all stays.
        ({"generated": ["", "I do.", "  "], "type": ["a", "b", "c"]}, ("I do.",), ("b",)),
        ({"generated": ["", "I do."], "type": "b"}, ("I do.",), ("b",)),
        ({"generated": ["I do.", "I."], "type": ["b"]}, ("I do.", "I."), ("b",)),
        # Half a character cannot be written again.
        ({"generated": ["I \ud83d do."]}, ("I \ufffd do.",), ()),
        ({"id": 7, "extra": {}}, ("I do.",), ()),
    ],
)
def test_the_published_defects_are_borne(
    tmp_path: Path, fields: dict[str, Any], references: tuple[str, ...], types: tuple[str, ...]
) -> None:
    [sample] = read_samples(written(tmp_path / "test.jsonl", row(**fields)))
    assert (sample.references, sample.types) == (references, types)


def test_blanks_around_role_and_question_go_and_so_do_rows_with_nothing_to_compare_with(
    tmp_path: Path,
) -> None:
    file = written(
        tmp_path / "test.jsonl",
        row(role=" Ada ", question=" Who?\nWho? "),
        row(generated=[]),
        row(generated=["", " \n"]),
        row(),
        row(),
    )
    assert [(sample.role, sample.question) for sample in read_samples(file)] == [
        ("Ada", "Who?\nWho?"),
        ("Ada", "Who keeps the lamp?"),
        ("Ada", "Who keeps the lamp?"),
    ]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [b"", b"\n", b"\n \n\n"])
def test_byte_order_mark_line_ends_and_blank_lines_do_not_matter(
    tmp_path: Path, line_end: bytes, mark: bytes, last: bytes
) -> None:
    file = tmp_path / "test.jsonl"
    # A line separator is no line end.
    line = json.dumps(row(question="One\u2028two"), ensure_ascii=False).encode()
    file.write_bytes(mark + line_end.join([line, b"", line]) + last)
    assert [sample.question for sample in read_samples(file)] == ["One\u2028two"] * 2


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"role": "Ada", "question": "Wh', "not JSON"),
        (b"[1, 2]", "not an object"),
        (b'"Ada"', "not an object"),
        (b'{"role": "Ada"}', "'generated'"),
        (b'{"role": "Ada", "question": "Who?", "generated": "I."}', "'generated'"),
        (b'{"role": "Ada", "question": "Who?", "generated": ["I.", null]}', "'generated'"),
        (b'{"role": "Ada", "question": " ", "generated": ["I."]}', "'question'"),
        (b'{"role": 7, "question": "Who?", "generated": ["I."]}', "'role'"),
        (b'{"question": "Who?", "generated": ["I."]}', "'role'"),
        (b'{"role": "A", "question": "W", "generated": ["I."], "type": 7}', "'type'"),
        (b'{"role": "A", "question": "W", "generated": ["I."], "type": [7]}', "'type'"),
        ('{"role": "Café"}'.encode("latin-1"), "UTF-8"),
        (b"[" * 100_000, "too deeply"),
        (b"9" * 10_000, "number|digits"),
        (b"\x00", "not JSON"),
    ],
)
def test_a_damaged_line_is_told_by_file_and_number(tmp_path: Path, line: bytes, what: str) -> None:
    file = tmp_path / "test.jsonl"
    file.write_bytes(json.dumps(row()).encode() + b"\n\n" + line + b"\n")
    with pytest.raises(RoleBenchError, match=what) as caught:
        read_samples(file)
    assert str(caught.value).startswith(f"{file}, line 3: ")
    assert "\n" not in str(caught.value)


def test_what_is_no_file_of_samples_is_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"\n")
    for path, what in ((empty, "no samples"), (tmp_path, "no file"), (tmp_path / "none.jsonl", "no file")):
        with pytest.raises(RoleBenchError, match=what) as caught:
            read_samples(path)
        assert str(path) in str(caught.value)


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3))
ROWS = st.fixed_dictionaries(
    {"role": VALUES | st.just("Ada"), "question": VALUES | st.just("Who?"), "generated": VALUES},
    optional={"type": VALUES},
)
LINES = st.binary(max_size=80) | (ROWS | VALUES).map(json.dumps).map(str.encode)


@examples(1.5)
@given(st.lists(LINES, max_size=3).map(b"\n".join))
def test_any_bytes_are_samples_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    file.write_bytes(content)
    told = str(file)
    try:
        samples = read_samples(file)
    except RoleBenchError as error:
        told = str(error)
    else:
        assert samples
        assert all(sample.role and sample.question and all(sample.references) for sample in samples)
    assert str(file) in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("folder", "kind", "language"),
    [
        ("rolebench-zh/general", "general", "zh"),
        ("rolebench-zh/instruction-generalization/role_specific", "role_specific", "zh"),
        ("rolebench-eng/role-generalization/general", "general", "en"),
        ("rolebench-eng/role-generalization/role_specific", "role_specific", "en"),
    ],
)
def test_folders_tell_kind_and_language_even_against_the_rows(
    tmp_path: Path, folder: str, kind: Kind, language: Language
) -> None:
    file = written(
        tmp_path / folder / "train.jsonl", row(), row(question="谁守着灯？", type="script_based")
    )
    assert {(sample.kind, sample.language) for sample in read_samples(file)} == {(kind, language)}


@pytest.mark.parametrize(
    ("fields", "kind", "language"),
    [
        ({}, "general", "en"),
        ({"type": ["script_based"]}, "role_specific", "en"),
        ({"question": "谁守着灯？", "generated": ["我。"]}, "general", "zh"),
    ],
)
def test_without_such_folders_the_rows_tell_kind_and_language(
    tmp_path: Path, fields: dict[str, Any], kind: Kind, language: Language
) -> None:
    [sample] = read_samples(written(tmp_path / "mine.jsonl", row(**fields)))
    assert (sample.kind, sample.language) == (kind, language)


def test_a_file_that_is_a_link_is_known_by_where_the_link_lies(tmp_path: Path) -> None:
    stored = written(tmp_path / "blobs" / "a0f1", row())
    link = tmp_path / ENGLISH / INSTRUCTIONS / "role_specific" / "test.jsonl"
    link.parent.mkdir(parents=True)
    link.symlink_to(stored)
    assert read_samples(link)[0].kind == "role_specific"
    assert find_file(tmp_path, "test", kind="role_specific") == link


SPLITS: tuple[Split, ...] = ("instruction-generalization", "role-generalization")
LANGUAGES: tuple[Language, ...] = ("en", "zh")
KINDS: tuple[Kind, ...] = ("general", "role_specific")
PARTS: tuple[Part, ...] = ("train", "test", "rolegpt_baseline")


@pytest.fixture
def rolebench(tmp_path: Path) -> Path:
    """The published layout, each file there and empty, in a folder that is named like a part of it."""
    root = tmp_path / "general"
    folders = [ENGLISH / split for split in SPLITS] + [Path("rolebench-zh")]
    for folder, kind, part in product(folders, KINDS, PARTS):
        written(root / folder / kind / f"{part}.jsonl")
    return root


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("language", "split", "folder"),
    [
        ("en", "instruction-generalization", "rolebench-eng/instruction-generalization"),
        ("en", "role-generalization", "rolebench-eng/role-generalization"),
        ("zh", "instruction-generalization", "rolebench-zh"),
    ],
)
def test_every_file_is_found_from_the_root_and_from_all_folders_above_it(
    rolebench: Path, kind: Kind, part: Part, language: Language, split: Split, folder: str
) -> None:
    file = rolebench / folder / kind / f"{part}.jsonl"
    for start in file.parents[: file.parents.index(rolebench) + 1]:
        found = find_file(start, part, kind=kind, language=language, split=split)
        assert found == file


def test_chinese_may_lie_in_a_folder_of_its_split(rolebench: Path) -> None:
    file = written(rolebench / "rolebench-zh" / INSTRUCTIONS / "general" / "test.jsonl")
    for start in file.parents[:4]:
        assert find_file(start, "test", kind="general", language="zh") == file


@pytest.mark.parametrize(
    ("start", "kind", "language", "split"),
    [
        ("rolebench-eng", "general", "zh", "instruction-generalization"),
        ("rolebench-zh", "general", "en", "instruction-generalization"),
        ("rolebench-zh", "general", "zh", "role-generalization"),
        ("rolebench-zh/general", "general", "zh", "role-generalization"),
        ("rolebench-zh/general", "role_specific", "zh", "instruction-generalization"),
        ("rolebench-zh/general", "general", "en", "instruction-generalization"),
        ("rolebench-eng/role-generalization", "general", "en", "instruction-generalization"),
        ("rolebench-eng/role-generalization/general", "general", "en", "instruction-generalization"),
        ("rolebench-eng/role-generalization/general", "role_specific", "en", "role-generalization"),
        ("..", "general", "en", "role-generalization"),
        ("rolebench-eng/role-generalization/general/test.jsonl", "general", "en", "role-generalization"),
        ("nowhere", "general", "en", "role-generalization"),
    ],
)
def test_a_file_of_another_kind_language_or_split_is_not_taken_for_it(
    rolebench: Path, start: str, kind: Kind, language: Language, split: Split
) -> None:
    with pytest.raises(RoleBenchError) as caught:
        find_file(rolebench / start, "test", kind=kind, language=language, split=split)
    root = {"en": "rolebench-eng", "zh": "rolebench-zh"}[language]
    assert str(caught.value).startswith(f"{rolebench / start} holds no {root}/{split}/{kind}/test.jsonl;")


def test_folders_copied_out_are_what_they_are_asked_for(tmp_path: Path) -> None:
    of_roles = written(tmp_path / "mine" / "role_specific" / "test.jsonl")
    for language, split in product(LANGUAGES, SPLITS):
        for start in (tmp_path / "mine", of_roles.parent):
            assert (
                find_file(start, "test", kind="role_specific", language=language, split=split) == of_roles
            )
    in_split = written(tmp_path / "yours" / "role-generalization" / "general" / "test.jsonl")
    assert find_file(tmp_path / "yours", "test", kind="general", split="role-generalization") == in_split
    with pytest.raises(RoleBenchError):
        find_file(in_split.parent, "test", kind="general", split="instruction-generalization")
    with pytest.raises(RoleBenchError):  # whether it is general or not cannot be seen
        find_file(written(tmp_path / "theirs" / "test.jsonl").parent, "test", kind="general")


def test_a_folder_is_known_from_within(rolebench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(rolebench / ENGLISH / "role-generalization")
    assert find_file(Path(), "test", kind="general", split="role-generalization").is_file()
    with pytest.raises(RoleBenchError):
        find_file(Path(), "test", kind="general", split="instruction-generalization")


def test_a_name_that_no_file_can_have_is_told(tmp_path: Path) -> None:
    impossible = tmp_path / ("a" * 300)  # which newer Pythons take for one that is not there
    with pytest.raises(RoleBenchError, match=r"cannot be read|holds no"):
        find_file(impossible, "test", kind="general")
    with pytest.raises(RoleBenchError, match=r"cannot be read|There is no file"):
        read_samples(impossible)


def test_the_published_part_that_lies_beside_the_project_is_read_whole() -> None:
    folder = shared_data("rolebench")
    rows: list[tuple[Language, Kind, Part, int]] = [
        ("en", "role_specific", "test", 445),
        ("en", "role_specific", "rolegpt_baseline", 445),
        ("en", "general", "test", 169),
        ("zh", "role_specific", "train", 1535),
        ("zh", "role_specific", "test", 239),
        ("zh", "general", "test", 1451),
    ]
    for language, kind, part, number in rows:
        samples = read_samples(find_file(folder, part, kind=kind, language=language))
        assert len(samples) == number
        assert {(sample.language, sample.kind) for sample in samples} == {(language, kind)}
        typed = kind == "role_specific" and part != "rolegpt_baseline"
        assert all(bool(sample.types) == typed for sample in samples)
        assert all(sample.question == sample.question.strip() for sample in samples)
