"""Scenes are found by path and id, read with clear complaints, and get their cast."""

from pathlib import Path

import pytest

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError, SceneError
from rolellm_agents.scene import Scene, Seat, cast_scene, list_scenes, load_scene

SCENE = """\
id: {id}
title: Two on a bench
setting: A bench in a park.
cast:
  - sherlock-holmes
  - id: stranger
    name: A stranger
    about: A stranger with a wet dog.
    person: true
"""


def write(folder: Path, name: str = "bench", text: str = SCENE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(text.format(id=name), encoding="utf-8")
    return path


def test_a_scene_gets_its_cast_by_path(tmp_path: Path) -> None:
    loaded = load_scene(write(tmp_path))
    assert loaded.names == {"sherlock-holmes": "Sherlock Holmes", "stranger": "A stranger"}
    assert loaded.personas["sherlock-holmes"].catchphrases
    # Whom a model plays when the person hands over.
    assert loaded.personas["stranger"].description == "A stranger with a wet dog."


def test_the_nearest_scene_of_an_id_wins() -> None:
    pack = user_paths().packs / "parks"
    write(pack / "scenes")
    (pack / "pack.yaml").write_text("name: parks\nversion: '1'\nlicence: CC0\n", encoding="utf-8")
    from_pack = {one.scene.id: one.origin for one in list_scenes()[0]}
    assert from_pack["bench"] == "pack"
    assert from_pack["last-booth"] == "bundled"

    write(user_paths().scenes)
    write(user_paths().scenes, "last-booth")
    nearest = {one.scene.id: one.origin for one in list_scenes()[0]}
    assert (nearest["bench"], nearest["last-booth"]) == ("user", "user")
    assert load_scene("last-booth").scene.title == "Two on a bench"


def test_a_persona_file_beside_the_scene_is_found(tmp_path: Path) -> None:
    (tmp_path / "eve.yaml").write_text(
        "id: eve\nname: Eve\ndescription: Eve sells apples.\n", encoding="utf-8"
    )
    path = write(tmp_path, text=SCENE.replace("sherlock-holmes", "persona: eve.yaml"))
    assert load_scene(path).names["eve"] == "Eve"


def test_a_file_may_be_named_otherwise_than_its_scene() -> None:
    write(user_paths().scenes, "draft-7", SCENE.replace("{id}", "the-bench"))
    assert load_scene("the-bench").scene.id == "the-bench"
    assert "the-bench" in {one.scene.id for one in list_scenes()[0]}


def test_a_damaged_scene_is_told_and_hides_no_other() -> None:
    write(user_paths().scenes, "broken", "id: broken\ntitle: [\n")
    found, notes = list_scenes()
    assert "last-booth" in {one.scene.id for one in found}
    assert [note for note in notes if "broken.yaml, line" in note]


def test_an_unknown_scene_is_named_with_the_nearest_one() -> None:
    with pytest.raises(SceneError, match=r"There is no scene 'last-boot'.*last-booth"):
        load_scene("last-boot")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("title: Two on a bench\n", ""), "line 1: the key 'title' is missing"),
        (("setting:", "colour: red\nsetting:"), "unknown key 'colour'"),
        (("person: true", "person: 'perhaps'"), "'cast\\[1\\].person'"),
        (("- sherlock-holmes", "- sherlock-holmes\n  - sherlock-holmes"), "two seats have the id"),
        (("name: A stranger", "name: Sherlock Holmes"), "two seats have the name"),
        (("id: stranger", "id: narrator"), "no seat can have the id 'narrator'"),
        (("    name: A stranger\n", ""), "'stranger' has no persona"),
        (("cast:", "events:\n  - {{after: 2, join: strnger}}\ncast:"), "events names 'strnger'.*stranger"),
        (("cast:", "events:\n  - {{after: 2}}\ncast:"), "the event has no content"),
        (("cast:", "director: {{kind: natural, order: [stranger]}}\ncast:"), "order of speakers"),
        (("cast:", "director: loud\ncast:"), "director.kind"),
        (("    about:", "    relations: {{queen: Loyal.}}\n    about:"), "relations names 'queen'"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    with pytest.raises(SceneError, match=complaint) as raised:
        load_scene(write(tmp_path, text=SCENE.replace(*change)))
    assert "\n" not in str(raised.value)


def test_a_cast_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, text=SCENE.replace("sherlock-holmes", "sherlok-holmes"))
    with pytest.raises(PersonaError, match=r"bench.yaml, line 5: There is no persona 'sherlok-holmes'"):
        load_scene(path)


def test_a_scene_can_be_made_in_code() -> None:
    scene = Scene(
        id="two", title="Two", setting="A room.", cast=(Seat(persona="shrek"), Seat(persona="thor"))
    )
    assert list(cast_scene(scene).seats) == ["shrek", "thor"]
