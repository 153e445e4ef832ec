"""A persona's file, and how it is found by path, id and name."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.hypotheses import examples
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import (
    Demonstration,
    Knowledge,
    Persona,
    Source,
    filter_personas,
    find_persona,
    list_personas,
    load_persona,
    read_persona,
)


def write_persona(file: Path, persona_id: str, **fields: object) -> Path:
    """A persona's file with as few keys as it may have, and `fields` beside them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    values = {"id": persona_id, "name": persona_id.title(), "description": "Somebody.", **fields}
    file.write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    return file


def own(name: str) -> Path:
    """A file of this name in the user's folder."""
    return user_paths().personas / name


def complaint(reference: str | Path) -> str:
    with pytest.raises(PersonaError) as caught:
        load_persona(reference)
    return str(caught.value)


# --- The file


def test_a_file_with_the_three_needed_keys_is_a_persona_with_the_defaults(tmp_path: Path) -> None:
    assert read_persona(write_persona(tmp_path / "ada.yaml", "ada")) == Persona(
        id="ada",
        name="Ada",
        language="en",
        source=None,
        category="",
        tags=(),
        description="Somebody.",
        catchphrases=(),
        greeting="",
        demonstrations=(),
        knowledge=(),
        lorebook=None,
        portrait=None,
        extensions={},
    )


def test_every_key_of_a_full_file_arrives(tmp_path: Path) -> None:
    file = tmp_path / "ada.yaml"
    file.write_text(
        """\
id: ada-lovelace-2
name: 爱达
language: zh
source: {work: Notes, year: -44}
category: thinker
tags: [engines, sums]
description: >-
  Folded over
  two lines.
catchphrases: ["Quite {so}.", "yes"]
greeting: Good day.
demonstrations:
  - user: Who?
    reply: I.
knowledge:
  - title: Engine
    text: It weaves.
lorebook: {entries: [{keys: [a], content: b, enabled: true}]}
portrait: ada.png
extensions: {depth: 1.5, none: null}
""",
        encoding="utf-8",
    )
    assert read_persona(file) == Persona(
        id="ada-lovelace-2",
        name="爱达",
        language="zh",
        source=Source(work="Notes", year=-44),
        category="thinker",
        tags=("engines", "sums"),
        description="Folded over two lines.",
        catchphrases=("Quite {so}.", "yes"),
        greeting="Good day.",
        demonstrations=(Demonstration(user="Who?", reply="I."),),
        knowledge=(Knowledge(title="Engine", text="It weaves."),),
        lorebook={"entries": [{"keys": ["a"], "content": "b", "enabled": True}]},
        portrait="ada.png",
        extensions={"depth": 1.5, "none": None},
    )


def test_a_persona_cannot_be_changed(holmes: Persona) -> None:
    for part, key in ((holmes, "name"), (holmes.demonstrations[0], "reply")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(part, key, "Mycroft")


def test_white_space_around_texts_is_dropped(tmp_path: Path) -> None:
    file = write_persona(
        tmp_path / "ada.yaml", "ada", name=" Ada\n", demonstrations=[{"user": "\ta ", "reply": " b\n"}]
    )
    persona = read_persona(file)
    assert (persona.name, persona.demonstrations) == ("Ada", (Demonstration(user="a", reply="b"),))


@pytest.mark.parametrize(
    "persona_id",
    ["Ada", "ada lovelace", "ada_l", "-ada", "ada-", "a--b", "", "../ada", "ada/b", "爱达", "a" * 81],
)
def test_an_id_that_is_not_in_kebab_case_is_refused(tmp_path: Path, persona_id: str) -> None:
    file = write_persona(tmp_path / "x.yaml", persona_id)
    with pytest.raises(PersonaError, match=r"x\.yaml, line 2: 'id': string should "):
        read_persona(file)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("language", "de", "'language': input should be 'en' or 'zh'"),
        # What YAML makes of Norwegian.
        ("language", False, "'language': input should be 'en' or 'zh'"),
        ("description", "  \n ", "'description': string should have at least 1 character"),
        ("name", True, "'name' must be text, not yes/no (put it in quotes)"),
        (
            "catchphrases",
            ["Quite.", False],
            "'catchphrases[1]' must be text, not yes/no (put it in quotes)",
        ),
        ("tags", "detective", "'tags': input should be a valid tuple"),
        ("demonstrations", [{"user": "a"}], "the key 'demonstrations[0].reply' is missing"),
        (
            "demonstrations",
            [{"user": "a", "reply": " "}],
            "'demonstrations[0].reply': string should have at",
        ),
        ("knowledge", [{"title": "a", "text": "b", "tags": []}], "unknown key 'knowledge[0].tags'"),
        ("source", {"work": "Notes"}, "the key 'source.year' is missing"),
        ("source", {"work": "Notes", "year": "long ago"}, "'source.year': input should be a valid integer"),
        ("source", {"work": "Notes", "year": True}, "'source.year': "),
        ("greeting", "x" * 20_001, None),
        ("description", "x" * 200_001, "'description': string should have at most 200000 characters"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_key(
    tmp_path: Path, key: str, value: object, said: str | None
) -> None:
    file = write_persona(tmp_path / "ada.yaml", "ada", **{key: value})
    if said is None:
        assert getattr(read_persona(file), key) == value
    else:
        assert f": {said}" in complaint(file)


# --- Finding one


def test_a_bundled_persona_is_found_by_its_id() -> None:
    found = find_persona("sherlock-holmes")
    assert (found.persona.name, found.origin, found.path.name) == (
        "Sherlock Holmes",
        "bundled",
        "sherlock-holmes.yaml",
    )
    assert load_persona("sherlock-holmes") == found.persona == read_persona(found.path)


@pytest.mark.parametrize(
    "reference", ["Sherlock Holmes", "sherlock holmes", "SHERLOCK-HOLMES", "  Sherlock Holmes\n"]
)
def test_a_persona_is_found_by_its_name_in_any_case(reference: str) -> None:
    assert load_persona(reference).id == "sherlock-holmes"


def test_a_chinese_persona_is_found_by_its_id_and_its_name() -> None:
    assert find_persona("孙悟空") == find_persona("sun-wukong")
    assert load_persona("孙悟空").name == "孙悟空"


def test_a_name_in_letters_that_fold_to_two_is_found(home: Path) -> None:
    write_persona(own("gross.yaml"), "gross", name="Frau Groß")
    assert load_persona("FRAU GROSS").id == "gross"


def test_the_users_persona_goes_before_the_bundled_one_and_a_path_before_both(tmp_path: Path) -> None:
    mine = write_persona(own("sherlock-holmes.yaml"), "sherlock-holmes", name="Mine")
    other = write_persona(tmp_path / "elsewhere" / "sherlock-holmes.yaml", "sherlock-holmes", name="Other")

    by_id = find_persona("sherlock-holmes")
    assert (by_id.persona.name, by_id.origin, by_id.path) == ("Mine", "user", mine)
    by_path = find_persona(str(other))
    assert (by_path.persona.name, by_path.origin, by_path.path) == ("Other", "path", other)


@pytest.mark.parametrize("file_name", ["a-better-holmes.yaml", "sherlock-holmes.yml"])
def test_the_users_persona_goes_first_whatever_its_file_is_called(file_name: str) -> None:
    """What the list shows for an id and what the id finds are the same."""
    write_persona(own(file_name), "sherlock-holmes", name="Mine")
    listed = {found.persona.id: found for found in list_personas().found}
    assert listed["sherlock-holmes"].persona.name == "Mine"
    assert find_persona("sherlock-holmes") == listed["sherlock-holmes"]


def test_of_two_own_files_with_one_id_the_list_and_the_id_find_the_same() -> None:
    write_persona(own("a.yaml"), "twin", name="First")
    write_persona(own("twin.yaml"), "twin", name="Second")
    listed = {found.persona.id: found for found in list_personas().found}
    assert find_persona("twin") == listed["twin"]


def test_a_file_is_known_by_the_id_inside_and_not_by_its_name() -> None:
    write_persona(own("ada.yaml"), "countess")
    assert load_persona("countess").id == "countess"
    assert complaint("ada").startswith("There is no persona 'ada'")


@pytest.mark.parametrize("suffix", [".yaml", ".yml"])
def test_a_reference_with_a_yaml_suffix_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    write_persona(tmp_path / f"ada{suffix}", "ada")
    monkeypatch.chdir(tmp_path)
    assert find_persona(f"ada{suffix}").origin == "path"


def test_a_path_object_is_a_path_whatever_its_suffix(tmp_path: Path) -> None:
    file = write_persona(tmp_path / "ada.txt", "ada")
    assert find_persona(file).path == file


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_persona(tmp_path / "ada.yaml", "ada")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_persona("~/ada.yaml").path == tmp_path / "ada.yaml"


def test_a_path_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    file = tmp_path / "nobody.yaml"
    assert complaint(str(file)) == f"{file} cannot be read: No such file or directory."


def test_a_near_miss_is_answered_with_what_may_be_meant() -> None:
    assert complaint("sherlok-homes").startswith(
        "There is no persona 'sherlok-homes' (did you mean sherlock-holmes"
    )
    assert " (did you mean 孙悟空?)" in complaint("孙悟")
    assert complaint("wukong").startswith("There is no persona 'wukong' (did you mean sun-wukong?)")


def test_without_a_near_one_the_message_says_where_to_look() -> None:
    assert complaint("qqqqqqqq") == "There is no persona 'qqqqqqqq'; “rolellm persona list” shows all."


def test_a_reference_with_a_path_in_it_is_not_looked_up_beside_the_folders(tmp_path: Path) -> None:
    outside = write_persona(user_paths().personas.parent.parent / "x.yaml", "x")
    own("folder").mkdir(parents=True)
    assert (user_paths().personas / "../../x.yaml").resolve() == outside
    for reference in (
        "../../x",
        "folder/../../../x",
        str(outside.with_suffix("")),
        "..",
        ".",
        "",
        "en/shrek",
    ):
        assert complaint(reference).startswith(f"There is no persona {reference!r}")


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param("a" * 300, id="too-long-an-id"),
        pytest.param("a" * 300 + ".yaml", id="too-long-a-path"),
        pytest.param("a\0b", id="null-in-an-id"),
        pytest.param("a\0b.yaml", id="null-in-a-path"),
        pytest.param("~nobody-has-this-name/a.yaml", id="nobodys-home"),
    ],
)
def test_a_reference_that_no_file_can_have_is_told_too(reference: str) -> None:
    assert complaint(reference).endswith(".")


@examples(0.3)
@given(
    st.text(max_size=30) | st.text(alphabet="./~\\ab-é孙 \0", max_size=12).map(lambda text: text + ".yaml")
)
@example("\ud800.yaml")
def test_whatever_is_asked_for_only_a_persona_error_is_raised(reference: str) -> None:
    try:
        persona = load_persona(reference)
    except PersonaError:
        return
    assert reference.casefold().strip() in (persona.id, persona.name.casefold())


# --- Listing all


def test_the_list_is_sorted_by_language_and_name_and_starts_without_notes() -> None:
    cast = list_personas()
    order = [(found.persona.language, found.persona.name) for found in cast.found]
    assert order == sorted(order)
    assert {language for language, _ in order} == {"en", "zh"}
    assert {found.origin for found in cast.found} == {"bundled"}
    assert cast.notes == ()


def test_both_suffixes_are_listed_and_other_files_are_not() -> None:
    write_persona(own("a.yaml"), "a")
    write_persona(own("b.yml"), "b")
    write_persona(own("c.txt"), "c")
    write_persona(own("deeper/d.yaml"), "d")
    listed = {found.persona.id for found in list_personas().found if found.origin == "user"}
    assert listed == {"a", "b"}


def test_a_persona_that_is_hidden_by_another_is_told() -> None:
    hidden = find_persona("sherlock-holmes").path
    mine = write_persona(own("sherlock-holmes.yaml"), "sherlock-holmes", name="Mine")
    cast = list_personas()
    assert [found.path for found in cast.found if found.persona.id == "sherlock-holmes"] == [mine]
    assert cast.notes == (f"{mine} hides {hidden}: both have the id 'sherlock-holmes'.",)


def test_broken_files_are_told_and_the_others_listed() -> None:
    write_persona(own("good.yaml"), "good")
    bad_yaml = own("bad-1.yaml")
    bad_yaml.write_text("id: [", encoding="utf-8")
    bad_text = own("bad-2.yaml")
    bad_text.write_bytes(b"\xff\xfe\x00")
    folder = own("bad-3.yaml")
    folder.mkdir()
    bad_value = own("bad-4.yml")
    bad_value.write_text("id: x\nname: X\ndescription: x\ncategory: 2001-99-99\n", encoding="utf-8")

    cast = list_personas()
    assert [found.persona.id for found in cast.found if found.origin == "user"] == ["good"]
    assert "sherlock-holmes" in {found.persona.id for found in cast.found}
    assert len(cast.notes) == 4
    for note, file in zip(cast.notes, (bad_yaml, bad_text, folder, bad_value), strict=False):
        assert note.startswith(str(file))


def test_a_broken_own_file_is_told_when_its_id_is_asked_for_and_the_list_shows_the_bundled_one() -> None:
    broken = own("sherlock-holmes.yaml")
    broken.parent.mkdir(parents=True)
    broken.write_text("id: sherlock-holmes\nname: Holmes\n", encoding="utf-8")
    said = f"{broken}, line 1: the key 'description' is missing."

    assert complaint("sherlock-holmes") == said
    cast = list_personas()
    assert cast.notes == (said,)
    listed = {found.persona.id: found.origin for found in cast.found}
    assert listed["sherlock-holmes"] == "bundled"


def test_personas_are_chosen_by_language_and_category() -> None:
    write_persona(own("a.yaml"), "a", language="en", category="test-1")
    write_persona(own("b.yaml"), "b", language="zh", category="test-1")
    write_persona(own("c.yaml"), "c", language="zh", category="test-2")
    mine = [found for found in list_personas().found if found.origin == "user"]

    def ids(language: str | None = None, category: str | None = None) -> list[str]:
        return [found.persona.id for found in filter_personas(mine, language=language, category=category)]

    assert ids() == ["a", "b", "c"]
    assert ids(language="zh") == ["b", "c"]
    assert ids(category="test-1") == ["a", "b"]
    assert ids(language="zh", category="test-1") == ["b"]
    assert ids(category="test-3") == []


# --- Any persona survives its file

LINES = st.text(min_size=1, max_size=40).map(str.strip).filter(bool)
JSON_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def personas(draw: st.DrawFn) -> Persona:
    def some(strategy: st.SearchStrategy[Any]) -> tuple[Any, ...]:
        return tuple(draw(st.lists(strategy, max_size=2)))

    free = st.dictionaries(st.text(max_size=10), JSON_VALUES, max_size=3)
    return Persona(
        id=draw(
            st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True).filter(lambda text: len(text) <= 80)
        ),
        name=draw(LINES),
        language=draw(st.sampled_from(["en", "zh"])),
        source=draw(st.none() | st.builds(Source, work=LINES, year=st.integers(-3000, 3000))),
        category=draw(st.text(max_size=10)),
        tags=some(LINES),
        description=draw(LINES),
        catchphrases=some(LINES),
        greeting=draw(st.text(max_size=40)),
        demonstrations=some(st.builds(Demonstration, user=LINES, reply=LINES)),
        knowledge=some(st.builds(Knowledge, title=LINES, text=LINES)),
        lorebook=draw(st.none() | free),
        portrait=draw(st.none() | st.text(max_size=20)),
        extensions=draw(free),
    )


@given(personas())
def test_any_persona_that_is_dumped_reads_back_equal(persona: Persona) -> None:
    text = yaml.safe_dump(persona.model_dump(mode="json"), sort_keys=False)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "persona.yaml"
        file.write_bytes(text.encode())
        assert read_persona(file) == persona
