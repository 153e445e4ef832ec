"""The bundled scenes: playable, short, and no seat's secret stands where anybody else may read it."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from rolellm_agents.scene.loading import LoadedScene, list_scenes, load_scene
from rolellm_agents.scene.scene import NARRATOR, DirectorKind, Event, OpeningLine, Scene
from rolellm_agents.scene.witness import audience_of
from rolellm_agents.text.language import Language
from rolellm_agents.text.words import weight, words_of

FILES = sorted(Path(str(files("rolellm_personas"))).glob("scenes/*.yaml"))
IDS = [file.stem for file in FILES]

RARE: dict[Language, float] = {"en": 5.5, "zh": 4.0}
"""The weight from which a word tells something: fewer than one text in two hundred of the cast has it, or,
of the few Chinese ones, at most one."""
ROOT: dict[Language, int] = {"en": 5, "zh": 4}
"""Characters by which words are one word: “forged” and “forgery”."""
SETTING: dict[Language, int] = {"en": 50, "zh": 65}
PRIVATE: dict[Language, int] = {"en": 60, "zh": 100}
"""How long a text may be, in words or Chinese characters, to leave a tiny model room to play."""


@dataclass(frozen=True)
class Secret:
    """What a seat keeps, and the words that would give it away."""

    seat: str
    text: str
    telling: frozenset[str]


def roots(text: str, language: Language) -> set[str]:
    return {word[: ROOT[language]] for word in words_of(text, language)}


def telling(text: str, loaded: LoadedScene) -> frozenset[str]:
    """The roots of a secret's rare words; who is in the cast is known to all."""
    language = loaded.scene.language
    known = roots(" ".join(loaded.names.values()), language)
    words = (word for word in words_of(text, language) if language == "en" or len(word) > 1)
    return (
        frozenset(word[: ROOT[language]] for word in words if weight(word, language) >= RARE[language])
        - known
    )


def secrets_of(loaded: LoadedScene) -> list[Secret]:
    return [
        Secret(seat.id, secret, telling(secret, loaded))
        for seat in loaded.scene.cast
        for secret in seat.secrets
    ]


def texts_beside(scene: Scene, owner: str) -> Iterator[tuple[str, str]]:
    """All texts of a scene that somebody other than `owner` may come to read, and where each stands.

    What the narrator bears in mind is among them: it may come to tell it.
    """
    yield from (("title", scene.title), ("setting", scene.setting), ("time", scene.time))
    yield from (("tags", tag) for tag in scene.tags)
    yield from (("stop", words) for words in scene.stop.said)
    yield from (("events", event.text) for event in scene.events)
    if scene.narrator:
        yield "narrator", scene.narrator.about
    present = [seat.id for seat in scene.cast if seat.present]
    for line in scene.opening:
        hearers = audience_of(scene.message_kinds[line.kind], line.speaker, line.to, present)
        if line.speaker == NARRATOR or set(hearers) - {owner}:
            yield "opening", line.text
    for seat in scene.cast:
        yield f"{seat.id}'s name", seat.name
        if seat.id != owner:
            private = [seat.about, *seat.goals, *seat.secrets, *seat.knows, *seat.relations.values()]
            yield from ((f"{seat.id}'s own", text) for text in private)


class Leak(NamedTuple):
    """A place in which telling words of a seat's secret stand for others to read."""

    seat: str
    place: str
    told: tuple[str, ...]
    text: str


def leaks(loaded: LoadedScene) -> list[Leak]:
    language = loaded.scene.language
    found = []
    for secret in secrets_of(loaded):
        for place, text in texts_beside(loaded.scene, secret.seat):
            # Where a Chinese word ends depends on what stands around it, so it is looked for as it is.
            there = (
                roots(text, language)
                if language == "en"
                else {word for word in secret.telling if word in text}
            )
            if told := secret.telling & there:
                found.append(Leak(secret.seat, place, tuple(sorted(told)), text))
    return found


def planted(loaded: LoadedScene, secret: Secret, text: str) -> Iterator[tuple[str, LoadedScene]]:
    """The scene with a text in each place where others would read it, one place at a time."""
    scene = loaded.scene
    owner = next(seat for seat in scene.cast if seat.id == secret.seat)
    other = next(seat for seat in scene.cast if seat.id != secret.seat and seat.present)
    said, whispered = (
        OpeningLine(speaker=owner.id, text=text),
        OpeningLine(speaker=owner.id, kind="whisper", to=(other.id,), text=text),
    )
    thought = OpeningLine(speaker=other.id, kind="think", text=text)
    changes: dict[str, dict[str, object]] = {
        "title": {"title": text},
        "setting": {"setting": f"{scene.setting} {text}"},
        "time": {"time": text},
        "an event": {"events": (*scene.events, Event(after=1, text=text))},
        "a narration": {"opening": (*scene.opening, OpeningLine(kind="narrate", text=text))},
        "a line": {"opening": (said,)},
        "a whisper": {"opening": (whispered,)},
        "another's thought": {"opening": (thought,)},
    }
    for field in ("goals", "knows", "secrets"):
        changes[f"another's {field}"] = {"cast": _with(scene, other.id, {field: (text,)})}
    changes["another's about"] = {"cast": _with(scene, other.id, {"about": text})}
    changes["another's relations"] = {"cast": _with(scene, other.id, {"relations": {owner.id: text}})}
    for place, change in changes.items():
        yield place, LoadedScene(scene=scene.model_copy(update=change), personas=loaded.personas)


def _with(scene: Scene, seat_id: str, change: dict[str, object]) -> tuple[object, ...]:
    return tuple(seat.model_copy(update=change) if seat.id == seat_id else seat for seat in scene.cast)


def length(text: str, language: Language) -> int:
    return len(text.split()) if language == "en" else sum(map(str.isalnum, text))


def test_all_scenes_are_listed_and_none_is_complained_of() -> None:
    found, notes = list_scenes()
    assert notes == []
    assert sorted(one.path for one in found) == FILES
    assert {one.origin for one in found} == {"bundled"}
    assert len(FILES) >= 10


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_a_scene_loads_by_the_id_that_its_file_is_named_after(file: Path) -> None:
    loaded = load_scene(file.stem)
    assert loaded.scene.id == file.stem
    assert set(loaded.personas) == {seat.id for seat in loaded.scene.cast}


def test_the_scenes_show_what_scenes_can_do() -> None:
    scenes = [load_scene(name).scene for name in IDS]
    assert {scene.director.kind for scene in scenes} == set(get_args(DirectorKind))
    assert {turn_kind.name for scene in scenes for turn_kind in scene.turn_kinds} == {
        "say",
        "act",
        "whisper",
        "think",
    }
    assert {2, 8} <= {len(scene.cast) for scene in scenes}
    assert sum(scene.language == "zh" for scene in scenes) >= 2
    assert any(scene.narrator for scene in scenes)
    assert any(seat.person and not seat.persona for scene in scenes for seat in scene.cast)
    assert any(event.leave for scene in scenes for event in scene.events)


@pytest.mark.parametrize("name", IDS)
def test_each_seat_of_a_scene_wants_and_hides_something_of_its_own(name: str) -> None:
    cast = load_scene(name).scene.cast
    assert all(seat.goals and seat.secrets for seat in cast)
    goals = [goal for seat in cast for goal in seat.goals]
    personas = [seat.persona for seat in cast if seat.persona]
    assert len(set(goals)) == len(goals)
    assert len(set(personas)) == len(personas)


@pytest.mark.parametrize("name", IDS)
def test_a_scene_opens_in_somebodys_voice_and_reaches_its_last_event(name: str) -> None:
    scene = load_scene(name).scene
    turns = min(scene.stop.turns, len(scene.director.order) or scene.stop.turns)
    assert 1 <= len(scene.opening) <= 4
    assert any(line.kind == "say" for line in scene.opening)
    assert all(0 < event.after < turns for event in scene.events)
    assert list(scene.events) == sorted(scene.events, key=lambda event: event.after)
    if scene.director.order:
        assert set(scene.director.order) == {seat.id for seat in scene.cast}


@pytest.mark.parametrize("name", IDS)
def test_who_comes_was_away_and_who_goes_was_there(name: str) -> None:
    scene = load_scene(name).scene
    there = {seat.id for seat in scene.cast if seat.present}
    assert {line.speaker for line in scene.opening} <= {*there, NARRATOR}
    for event in scene.events:
        assert event.join not in there
        assert event.leave is None or event.leave in there
        there = (there | ({event.join} if event.join else set())) - {event.leave or ""}
    assert there == {seat.id for seat in scene.cast}


@pytest.mark.parametrize("name", IDS)
def test_a_scene_is_not_over_by_words_of_its_own_file(name: str) -> None:
    scene = load_scene(name).scene
    texts = [scene.setting, *(line.text for line in scene.opening), *(event.text for event in scene.events)]
    told = " ".join(texts).casefold()
    assert not [words for words in scene.stop.said if words.casefold() in told]


@pytest.mark.parametrize("name", IDS)
def test_a_tiny_model_can_hold_a_seat_of_a_scene(name: str) -> None:
    scene = load_scene(name).scene
    assert length(scene.setting, scene.language) <= SETTING[scene.language]
    for seat in scene.cast:
        private = " ".join([seat.about, *seat.goals, *seat.secrets, *seat.knows, *seat.relations.values()])
        assert length(private, scene.language) <= PRIVATE[scene.language], seat.id


def test_a_chinese_scene_is_chinese_throughout() -> None:
    for loaded in map(load_scene, IDS):
        if loaded.scene.language == "zh":
            shown = [text for _, text in texts_beside(loaded.scene, owner="")] + list(loaded.names.values())
            assert not [text for text in shown if any(char.isascii() and char.isalpha() for char in text)]
            assert {persona.language for persona in loaded.personas.values()} == {"zh"}


@pytest.mark.parametrize("name", IDS)
def test_no_secret_of_a_scene_stands_where_others_may_read_it(name: str) -> None:
    assert leaks(load_scene(name)) == []


@pytest.mark.parametrize("name", IDS)
def test_a_secret_is_found_by_one_telling_word_wherever_others_may_read_it(name: str) -> None:
    """The check above can fail, for each secret and in each place."""
    loaded = load_scene(name)
    language = loaded.scene.language
    for secret in secrets_of(loaded):
        assert len(secret.telling) >= 2, secret.text
        words = words_of(secret.text, language)
        one_word = next(word for word in words if word[: ROOT[language]] in secret.telling)
        for text in (secret.text, one_word):
            for place, leaking in planted(loaded, secret, text):
                assert secret.seat in {leak.seat for leak in leaks(leaking)}, f"{place} gave away {text!r}"


@pytest.mark.parametrize("name", IDS)
def test_a_secret_that_only_its_owner_thinks_of_is_no_leak(name: str) -> None:
    loaded = load_scene(name)
    for secret in secrets_of(loaded):
        thought = OpeningLine(speaker=secret.seat, kind="think", text=secret.text)
        scene = loaded.scene.model_copy(update={"opening": (*loaded.scene.opening, thought)})
        assert leaks(LoadedScene(scene=scene, personas=loaded.personas)) == []
