"""The bundled personas keep the standard that a persona in this pack is written to."""

import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from rolellm_agents.persona import Persona, list_personas, read_persona

FOLDER = Path(str(files("rolellm_personas")))
FILES = sorted(FOLDER.glob("*/*.yaml"))

CATEGORIES = {
    *("hero", "villain", "rogue", "leader", "thinker", "artist"),
    *("warrior", "comic", "outsider", "machine", "creature", "everyman"),
}

ASSISTANT_SPEAK = re.compile(
    r"\bas an ai\b|language model|i'd be happy to|i would be happy to|i'm happy to help|glad to help"
    r"|how (can|may) i (assist|help)|feel free to|let me know if|^(sure|certainly|of course|absolutely)!"
    r"|as a (large )?language|in conclusion|it's important to (note|remember)"
    r"|作为一个?(人工智能|语言模型|AI)|很高兴(为您|帮)|有什么可以帮|希望(这|以上)对(你|您)有",
    re.IGNORECASE,
)
STAGE_DIRECTION = re.compile(r"\*|^\s*[(（\[【]|[)）\]】]\s*$")


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def persona(request: pytest.FixtureRequest) -> Persona:
    """Each of the pack, one after the other."""
    return read_persona(request.param)


def replies(persona: Persona) -> list[str]:
    return [pair.reply for pair in persona.demonstrations]


def spoken(persona: Persona) -> list[str]:
    """All that the character says aloud."""
    return [persona.greeting, *replies(persona)]


def bare(text: str) -> str:
    """The words alone, in one case: no punctuation, single spaces."""
    return " ".join(re.findall(r"\w+", re.sub("['’]", "", text.casefold())))


def opening(text: str, language: str) -> str:
    """The first three words; in Chinese, where words are not set apart, the first three characters."""
    return bare(text).replace(" ", "")[:3] if language == "zh" else " ".join(bare(text).split()[:3])


def is_heard(phrase: str, reply: str, language: str) -> bool:
    """Whether the words of the phrase stand in the reply, one after the other."""
    if language == "zh":
        return bare(phrase).replace(" ", "") in bare(reply).replace(" ", "")
    return f" {bare(phrase)} " in f" {bare(reply)} "


def repeated(texts: list[str]) -> list[str]:
    return [text for text, times in Counter(texts).items() if times > 1]


def test_the_pack_is_found_whole_and_without_a_note() -> None:
    cast = list_personas()
    assert sorted(found.path for found in cast.found) == FILES
    assert cast.notes == ()


def test_each_language_of_the_pack_has_a_cast() -> None:
    languages = Counter(file.parent.name for file in FILES)
    assert set(languages) == {"en", "zh"}
    assert min(languages.values()) >= 2


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_named_by_its_id_and_lies_in_its_language(file: Path) -> None:
    persona = read_persona(file)
    assert (persona.id, persona.language) == (file.stem, file.parent.name)


def test_a_persona_has_enough_of_everything(persona: Persona) -> None:
    assert len(persona.demonstrations) >= 8
    assert 4 <= len(persona.catchphrases) <= 10
    assert len(persona.knowledge) >= 6
    assert persona.greeting.strip()
    assert persona.source is not None
    assert persona.category in CATEGORIES
    assert 3 <= len(persona.tags) <= 6


def test_a_description_is_neither_thin_nor_a_burden(persona: Persona) -> None:
    if persona.language == "zh":
        assert 100 <= len(persona.description) <= 250
    else:
        assert 60 <= len(persona.description.split()) <= 150


def test_a_character_speaks_and_does_not_act(persona: Persona) -> None:
    assert [text for text in spoken(persona) if STAGE_DIRECTION.search(text)] == []


def test_a_character_does_not_speak_like_an_assistant(persona: Persona) -> None:
    assert [text for text in spoken(persona) if ASSISTANT_SPEAK.search(text)] == []


def test_no_two_replies_begin_alike(persona: Persona) -> None:
    assert repeated([opening(reply, persona.language) for reply in replies(persona)]) == []


def test_half_of_the_catchphrases_are_heard_in_the_replies(persona: Persona) -> None:
    unheard = [
        phrase
        for phrase in persona.catchphrases
        if not any(is_heard(phrase, reply, persona.language) for reply in replies(persona))
    ]
    assert 2 * len(unheard) <= len(persona.catchphrases), unheard


def test_a_chinese_character_says_no_latin_letter(persona: Persona) -> None:
    said = [*spoken(persona), *(piece.title + piece.text for piece in persona.knowledge)]
    latin = [text for text in said if re.search("[A-Za-z]", text)]
    assert latin == ([] if persona.language == "zh" else said)


def test_no_line_stands_twice_in_the_pack() -> None:
    pairs = [pair for file in FILES for pair in read_persona(file).demonstrations]
    assert repeated([bare(pair.user) for pair in pairs]) == []
    assert repeated([bare(pair.reply) for pair in pairs]) == []


def test_the_standard_is_one_that_bad_lines_fail() -> None:
    """The patterns above find what they are for."""
    for bad in (
        "As an AI, I cannot",
        "Well, I'd be happy to!",
        "How can I assist you?",
        "Sure! Here",
        "作为一个AI，我",
    ):
        assert ASSISTANT_SPEAK.search(bad)
    for bad in ("*bows* Good day.", "(laughs) No.", "好。（笑）"):
        assert STAGE_DIRECTION.search(bad)
    assert opening("I, too, can't say.", "en") == "i too cant"
    assert opening("俺，老孙来也！", "zh") == "俺老孙"
    assert is_heard("The game is afoot.", "Up! THE game -- is afoot, Watson.", "en")
    assert not is_heard("Well now", "Swell now", "en")
    assert is_heard("造化！造化！", "造化，造化", "zh")
