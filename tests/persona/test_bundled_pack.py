"""The bundled cast: RoleBench's hundred roles, to the standard of the linter, in voices of their own."""

from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from rolellm_agents.persona import Persona, list_personas, read_persona
from rolellm_agents.persona.lint import check_personas
from rolellm_agents.persona.lint.voices import check_voices
from rolellm_agents.persona.packs import bundled_pack

FOLDER = Path(str(files("rolellm_personas")))
FILES = sorted(FOLDER.glob("[ez][nh]/*.yaml"))
REAL_PEOPLE = {
    *("abraham-lincoln", "antonio-salieri", "harvey-milk", "james-brown", "jim-morrison", "john-dillinger"),
    *("jordan-belfort", "malcolm-x", "queen-catherine", "queen-elizabeth-i", "stephen-hawking"),
    "truman-capote",
}

ROLEBENCH = """
Abraham Lincoln; Alvy Singer; Andrew Detmer; Angel; Antonio Salieri; Benjamin Button; Blair Waldorf;
Bruno Antony; Caden Cotard; Caesar; Coach Eric Taylor; Colonel Hans Landa; Colonel Nathan R. Jessep;
Coriolanus; D_Artagnan; David Aames; Doctor Who; Dr. Frank-N-Furter; Dr. Hannibal Lecter; Fletcher
Reede; Frank T.J. Mackey; Fred Flintstone; Freddy Krueger; Gaston; Gregory House; HAL 9000; Harvey
Milk; Jack; Jack Sparrow; Jack Torrance; Jackie Moon; James Bond; James Brown; James Carter; Jeff
Spicoli; Jigsaw; Jim Morrison; John Coffey; John Dillinger; John Doe; John Keating; Jordan Belfort;
Judge Dredd; Judy Hoops; Juno MacGuff; Karl Childers; Klaus Mikaelson; Leonard Shelby; Leroy Jethro
Gibbs; Lestat de Lioncourt; Logan; Lucifer Morningstar; Lyn Cassady; Malcolm X; Mark Renton; Mary
Sibley; Mater; Michael Scott; Murphy MacManus; Oliver Queen; Pat Solitano; Paul Conroy; Paul Vitti;
Peter Parker; Po; Professor G.H. Dorr; Queen Catherine; Queen Elizabeth I; Rachel Lang; Randle
McMurphy; Raylan Givens; Robert Angier; Rorschach; Seth; Sheldon Cooper; Sherlock Holmes; Shrek;
Sonny; Stanley Ipkiss; Stephen Hawking; Stifler; The Dude; Theodore Twombly; Thor; Tom Ripley;
Travis Bickle; Truman Capote; Tugg Speedman; Twilight Sparkle; Tyler Hawkins; Tyrion Lannister;
Violet Weston; Wade Wilson; Walt Kowalski; Willie Soke; 华妃; 孙悟空; 张飞; 李白; 皇帝
"""
"""The names as RoleBench's files have them."""


@pytest.fixture(scope="module")
def cast() -> list[Persona]:
    return [read_persona(file) for file in FILES]


def test_the_pack_is_found_whole_and_without_a_note() -> None:
    listed = list_personas()
    assert sorted(found.path for found in listed.found) == FILES
    assert listed.notes == ()
    assert sorted(bundled_pack().personas) == FILES


def test_the_roles_are_rolebenchs(cast: list[Persona]) -> None:
    names = {" ".join(name.split()) for name in ROLEBENCH.split(";")}
    assert len(names) == 100
    assert {persona.name for persona in cast} == names
    assert Counter(persona.language for persona in cast) == {"en": 95, "zh": 5}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_named_by_its_id_and_lies_in_its_language(file: Path) -> None:
    persona = read_persona(file)
    assert (persona.id, persona.language) == (file.stem, file.parent.name)
    assert 3 <= len(persona.tags) <= 6


def test_the_linter_finds_nothing(cast: list[Persona]) -> None:
    assert check_personas(cast) == []


def test_real_people_are_portraits_after_a_named_work(cast: list[Persona]) -> None:
    for persona in cast:
        if persona.id in REAL_PEOPLE:
            assert persona.source is not None
            assert "as portrayed in" in persona.description, persona.id


def test_a_chinese_character_says_no_latin_letter(cast: list[Persona]) -> None:
    for persona in cast:
        if persona.language == "zh":
            said = [persona.greeting, *(pair.reply for pair in persona.demonstrations)]
            said += [piece.title + piece.text for piece in persona.knowledge]
            assert not any(character.isascii() and character.isalpha() for character in "".join(said))


@pytest.mark.parametrize(("language", "at_least"), [("en", 40), ("zh", 4)])
def test_the_voices_are_told_apart_far_above_chance(
    cast: list[Persona], language: str, at_least: float
) -> None:
    report = check_voices([persona for persona in cast if persona.language == language])
    assert report.hit_rate >= at_least * report.chance
