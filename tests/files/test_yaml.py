"""Files by people and by strangers: what is wrong is told with its line, and nothing else comes out."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from helpers.hypotheses import examples
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, JsonValue

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.files.yaml import MAX_BYTES, read_yaml


class Pair(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    user: str
    reply: str


class Sheet(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    note: str = ""
    year: int = 0
    pairs: tuple[Pair, ...] = ()
    extensions: Mapping[str, JsonValue] = {}


class SheetError(RoleLLMError):
    """What these tests ask `read_yaml` to raise."""


KNOWN = "name, note, year, pairs, extensions"


def read(file: Path, content: str | bytes) -> Sheet:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_yaml(file, Sheet, SheetError)


def complaint(file: Path, content: str | bytes) -> str:
    """What is said about this content, without the file's name; it must be one sentence."""
    with pytest.raises(SheetError) as caught:
        read(file, content)
    message = str(caught.value)
    assert message.startswith(str(file))
    assert message.endswith(".")
    assert "\n" not in message
    return message.removeprefix(str(file))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sheet.yaml"


def test_a_good_file_is_read_whole(file: Path) -> None:
    text = """\
# A comment, and text in several styles.
name: Ada
note: >-
  folded
  text
year: 1843
pairs:
  - user: "你好 {x}"
    reply: 'it''s'
extensions:
  list: [1, 2.5, null, true]
"""
    assert read(file, text) == Sheet(
        name="Ada",
        note="folded text",
        year=1843,
        pairs=(Pair(user="你好 {x}", reply="it's"),),
        extensions={"list": [1, 2.5, None, True]},
    )


def test_a_byte_order_mark_is_no_part_of_the_first_key(file: Path) -> None:
    assert read(file, b"\xef\xbb\xbfname: Ada\n") == Sheet(name="Ada")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "name: Ada\n# a remark\nnaem: Bob\n",
            ", line 3: unknown key 'naem' (did you mean name or note?).",
            id="unknown-key",
        ),
        pytest.param(
            "name: Ada\nxyz: Bob\n", f", line 2: unknown key 'xyz' (known: {KNOWN}).", id="strange-key"
        ),
        pytest.param(
            "naem: Ada\n",
            ", line 1: unknown key 'naem' (did you mean name or note?) (and 1 more).",
            id="misspelt-and-therefore-missing",
        ),
        pytest.param(
            "name: Ada\npairs:\n  - user: a\n    reply: b\n  - user: c\n    reply: d\n    replay: e\n",
            ", line 7: unknown key 'pairs[1].replay'.",
            id="unknown-key-inside",
        ),
        pytest.param("year: 1843\n", ", line 1: the key 'name' is missing.", id="missing-key"),
        pytest.param(
            "name: Ada\npairs:\n  - user: a\n    reply: b\n\n  - user: c\n",
            ", line 6: the key 'pairs[1].reply' is missing.",
            id="missing-key-inside",
        ),
        pytest.param("note: x\nname:\n", ", line 2: 'name' is empty; give it a text.", id="no-value"),
        pytest.param(
            "name: yes\n", ", line 1: 'name' must be text, not yes/no (put it in quotes).", id="yes"
        ),
        pytest.param(
            "name: Ada\nnote: No\n",
            ", line 2: 'note' must be text, not yes/no (put it in quotes).",
            id="no",
        ),
        pytest.param(
            "name: 2001\n", ", line 1: 'name' must be text, not a number (put it in quotes).", id="number"
        ),
        pytest.param("\nname: [Ada]\n", ", line 2: 'name' must be text, not a list.", id="list"),
        pytest.param("name: {is: Ada}\n", ", line 1: 'name' must be text, not a mapping.", id="mapping"),
        pytest.param(
            "name: Ada\npairs:\n- user: a\n  reply: {b: c}\n",
            ", line 4: 'pairs[0].reply' must be text, not a mapping.",
            id="wrong-type-inside",
        ),
        pytest.param(
            "name: Ada\nyear: soon\n",
            ", line 2: 'year': input should be a valid integer, unable to parse string as an integer.",
            id="not-a-number",
        ),
        pytest.param(
            "name: 1\nnote: 2\nfoo: 3\n",
            ", line 1: 'name' must be text, not a number (put it in quotes) (and 2 more).",
            id="several",
        ),
        pytest.param("name: Ada\n\nname: Bob\n", ", line 3: the key 'name' occurs twice.", id="twice"),
        pytest.param(
            'name: Ada\n"name": Bob\n', ", line 2: the key 'name' occurs twice.", id="twice-quoted"
        ),
        pytest.param(
            "name: Ada\npairs:\n  - user: a\n    reply: b\n    user: c\n",
            ", line 5: the key 'user' occurs twice.",
            id="twice-inside",
        ),
        pytest.param(
            "name: Ada\nextensions: {a: 1,\n  a: 2}\n",
            ", line 3: the key 'a' occurs twice.",
            id="twice-flow",
        ),
        pytest.param("", " must hold keys and values, as in “name: …”.", id="empty"),
        pytest.param(
            "# only a remark\n", " must hold keys and values, as in “name: …”.", id="only-a-remark"
        ),
        pytest.param("- name: Ada\n", " must hold keys and values, as in “name: …”.", id="list-at-top"),
        pytest.param("Ada\n", " must hold keys and values, as in “name: …”.", id="text-at-top"),
        pytest.param(b"name: Jos\xe9\n", " is not UTF-8 text; save it as UTF-8.", id="latin-1"),
        pytest.param("name: Ada\n".encode("utf-16"), " is not UTF-8 text; save it as UTF-8.", id="utf-16"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(file: Path, text: str | bytes, said: str) -> None:
    assert complaint(file, text) == said


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("name: Ada\nnote: 'open\n", 3, id="open-quote"),
        pytest.param("name: Ada\nnote: [a, b\n", 3, id="open-list"),
        pytest.param("name: Ada\n\tnote: b\n", 2, id="tab"),
        pytest.param("name: Ada\nnote: a: b\n", 2, id="two-colons"),
        pytest.param("name: Ada\nnote: @b\n", 2, id="reserved-character"),
        pytest.param("name: Ada\n---\nname: Bob\n", 2, id="two-documents"),
        pytest.param("name: Ada\nnote: *nobody\n", 2, id="undefined-alias"),
        pytest.param("name: Ada\nnote: !mine b\n", 2, id="unknown-tag"),
        pytest.param("name: Ada\nnote: !!python/name:os.system ''\n", 2, id="python-tag"),
        pytest.param("name: Ada\nnote: a\x07b\n", 2, id="control-character"),
    ],
)
def test_bad_syntax_is_told_with_its_line(file: Path, text: str, line: int) -> None:
    assert complaint(file, text).startswith(f", line {line}: ")


@pytest.mark.parametrize(
    "value",
    [
        "2001-99-99",  # reads as a date that is none
        pytest.param("1" * 5_000, id="5000-digits"),  # more digits than Python converts
        "!!int many",
        "!!int ''",
        "!!float ''",
        "!!bool perhaps",
        "!!timestamp today",
        "!!binary é",
    ],
)
def test_a_value_that_cannot_be_built_is_told_with_its_line(file: Path, value: str) -> None:
    assert complaint(file, f"name: Ada\nnote: {value}\n").startswith(", line 2: ")


def values(file: Path, *written: str) -> list[object]:
    """What these plain scalars are read as."""
    listed = "".join(f"    - {value}\n" for value in written)
    found = read(file, f"name: Ada\nextensions:\n  list:\n{listed}").extensions["list"]
    assert isinstance(found, list)
    return list(found)


def test_numbers_are_those_of_yaml_1_2(file: Path) -> None:
    assert values(file, "0", "-7", "+12", "007", "0x1F", "1.5", "-0.5", "2.", "1.5e+3") == [
        *(0, -7, 12, 7, 31, 1.5, -0.5, 2.0, 1500.0)
    ]


@pytest.mark.parametrize(
    "value", ["1:30", "12:30:45", "1:30.5", "1_000", "1_0.5", "0b101", "-1:00", "0x_1", "0o17", "1e3"]
)
def test_what_only_yaml_1_1_reads_as_a_number_is_text(file: Path, value: str) -> None:
    assert values(file, value) == [value]


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("0x" + "f" * 20_000, "20,002"),
        ("1" * 301, "301"),
        ("1:00" + ":00" * 100, "304"),
        ("1." + "0" * 300, "302"),
        # With the time of base 60, which grows with the square of the length, this would take minutes.
        ("1" + ":00" * 1_000_000, "3,000,001"),
    ],
    ids=["hexadecimal", "decimal", "base-60", "fraction", "long-base-60"],
)
def test_a_number_with_too_many_characters_is_refused_with_its_line(
    file: Path, value: str, length: str
) -> None:
    assert complaint(file, f"name: Ada\nyear: {value}\n") == (
        f", line 2: the number {value[:20]}… has {length} characters, at most 300 are read (a text needs "
        "quotes)."
    )


@pytest.mark.parametrize("key", ["[a, b]", "{a: b}", "7", "1.5", "~", "yes", "2001-01-01"])
def test_a_key_that_is_no_text_is_told_with_its_line(file: Path, key: str) -> None:
    assert complaint(file, f"name: Ada\nyear: 1\n{key}: x\n").startswith(", line 3: ")


def test_a_value_deep_in_free_data_is_told_with_its_own_line_and_key(file: Path) -> None:
    text = "name: Ada\nextensions:\n  outer:\n    inner:\n      - born: 1815-12-10\n"
    assert complaint(file, text) == (
        ", line 5: 'extensions.outer.inner[0].born': input was not a valid JSON value."
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("name: &n Ada\nnote: *n\n", 2, id="of-a-text"),
        pytest.param("name: Ada\nextensions:\n  a: &a [1]\n  b: [*a, *a]\n", 4, id="of-a-list"),
        pytest.param("name: Ada\nextensions: &a\n  b: *a\n", 3, id="of-itself"),
        pytest.param(
            "name: Ada\nextensions:\n  a0: &a0 [x]\n"
            + "".join(f"  a{n}: &a{n} [{f'*a{n - 1}, ' * 2}]\n" for n in range(1, 10)),
            4,
            id="a-billion-laughs",
        ),
    ],
)
def test_an_alias_is_refused_where_it_stands(file: Path, text: str, line: int) -> None:
    said = complaint(file, text)
    assert said.startswith(f", line {line}: ")
    assert "alias" in said


def test_the_same_key_may_stand_in_two_places(file: Path) -> None:
    text = "name: Ada\npairs:\n  - {user: a, reply: b}\n  - {user: c, reply: d}\n"
    assert [pair.user for pair in read(file, text).pairs] == ["a", "c"]


def test_a_file_of_the_greatest_size_is_read_and_one_byte_more_is_not(file: Path) -> None:
    head = "name: Ada\nnote: "
    note = "x" * (MAX_BYTES - len(head))
    assert read(file, head + note).note == note
    assert (
        complaint(file, head + note + "x") == " is too large: 8,000,001 bytes, at most 8,000,000 are read."
    )


def test_more_values_than_memory_bears_are_refused(file: Path) -> None:
    assert complaint(file, "name: Ada\nextensions:\n  x: [" + "[]," * 1_000_000 + "]\n") == (
        ", line 3: it holds too many values; at most 1,000,000 are read."
    )


def test_a_folder_in_the_files_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(SheetError) as caught:
        read_yaml(tmp_path, Sheet, SheetError)
    assert str(caught.value) == f"{tmp_path} cannot be read: Is a directory."


def test_a_file_that_is_not_there_is_told(file: Path) -> None:
    with pytest.raises(SheetError) as caught:
        read_yaml(file, Sheet, SheetError)
    assert str(caught.value) == f"{file} cannot be read: No such file or directory."


def test_a_name_that_no_file_can_have_is_told(tmp_path: Path) -> None:
    with pytest.raises(SheetError, match="cannot be read"):
        read_yaml(tmp_path / "a\0b.yaml", Sheet, SheetError)


@pytest.mark.core
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("[" * 200_000 + "]" * 200_000, id="lists"),
        pytest.param("{a: " * 150_000 + "}" * 150_000, id="mappings"),
        pytest.param("\n" + "- " * 200_000 + "x", id="items"),
    ],
)
def test_deep_nesting_is_told_and_does_not_end_the_process(file: Path, value: str) -> None:
    """In a process of its own, since a parser that recurses in C takes the whole process along."""
    file.write_text(f"name: Ada\nextensions: {value}\n", encoding="utf-8")
    program = (
        "import sys; from pathlib import Path\n"
        "from rolellm_agents.persona import read_persona\n"
        "from rolellm_agents.errors import PersonaError\n"
        "try: read_persona(Path(sys.argv[1]))\n"
        "except PersonaError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith(str(file))
    assert "deep" in done.stdout


def test_the_cause_is_kept_for_those_who_debug(file: Path) -> None:
    with pytest.raises(SheetError) as caught:
        read(file, "name: [")
    assert isinstance(caught.value.__cause__, yaml.YAMLError)


# Pieces that mean something to a YAML parser or to the model: random characters alone seldom do.
PIECES = [
    *(
        "name",
        "note",
        "pairs",
        "user",
        "reply",
        "extensions",
        "Ada",
        "yes",
        "~",
        "1",
        "1.5",
        "=",
        "<<",
        ".inf",
    ),
    *("2001-99-99", "0x_", "0b_", "1:99", "\n", "\n  ", "\n- ", ": ", "- ", "? ", ", ", "[", "]", "{", "}"),
    *(
        "&a ",
        "*a",
        "!!int ",
        "!!set ",
        "!!omap ",
        "!!binary ",
        "!!str ",
        "! ",
        "'",
        '"',
        "|\n ",
        ">-\n ",
        "#",
    ),
    *(
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "\t",
        "\\",
        "\r\n",
        "\ufeff",
        "\x85",
        "\u2028",
        "\x00",
        "\x7f",
        "é",
        "😀",
    ),
]


@examples(2)
@given(
    st.one_of(
        st.text(max_size=80).map(str.encode),
        st.lists(st.sampled_from(PIECES), max_size=24).map(lambda pieces: "".join(pieces).encode()),
        st.lists(st.sampled_from(PIECES), max_size=12).map(
            lambda pieces: ("name: Ada\nextensions:\n  x: " + "".join(pieces)).encode()
        ),
        st.binary(max_size=40),
    )
)
@example(b"name: Ada\nnote: 2001-99-99\n")
@example(b"? [a]\n: b\n")
def test_whatever_the_file_holds_only_the_asked_error_is_raised(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sheet.yaml"
        try:
            sheet = read(file, content)
        except SheetError as error:
            message = str(error)
            assert message.startswith(str(file))
            assert message.endswith(".")
            assert "\n" not in message
        else:
            assert isinstance(sheet, Sheet)
