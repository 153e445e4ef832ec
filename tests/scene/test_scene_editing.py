"""Editing a scene's file: the form, and what a save changes."""

from pathlib import Path
from typing import Any

import pytest

from rolellm_agents.config.paths import user_paths
from rolellm_agents.editing.form import Data, FormField, value_at, with_field, with_item, without_item
from rolellm_agents.editing.places import row_at
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.errors import SceneError
from rolellm_agents.scene import load_scene
from rolellm_agents.scene.editing.document import (
    cast_edited,
    edited_scene,
    new_scene,
    open_scene,
    save_scene,
)
from rolellm_agents.scene.editing.form import scene_rows, seat_ids
from rolellm_agents.scene.loading import FoundScene, SeatNameError, SeatPersonaError, find_scene
from rolellm_agents.scene.scene import Director, Event, Narrator, OpeningLine, Scene, Seat, Stop

FERRY = """\
# A crossing.
id: ferry
title: The Ferry
setting: A ferry in fog.  # thick
cast:
  - {id: ann, name: Ann Grey, about: You have cut the rope.}
  - id: ben
    name: Ben Stone
    goals:
      - Cross.  # at last
  - sherlock-holmes
opening:
  - text: The bell rings.
director: round-robin
"""


@pytest.fixture
def ferry() -> YamlDocument:
    folder = user_paths().scenes
    folder.mkdir(parents=True)
    (folder / "ferry.yaml").write_text(FERRY)
    return open_scene(find_scene("ferry"))


def _field(data: Data, *path: Any) -> FormField:
    fields = [field for row in scene_rows(data) for field in row.fields if field.path == path]
    assert fields, [field.path for row in scene_rows(data) for field in row.fields]
    return fields[0]


def _with(data: Data, value: Any, *path: Any) -> Data:
    return with_field(data, _field(data, *path), value)


def test_every_part_of_a_scene_has_a_field(ferry: YamlDocument) -> None:
    data = _with(ferry.data, True, "narrator")
    data = {**data, "events": [{"after": 1, "text": "It rains."}]}
    paths = {field.path for row in scene_rows(data) for field in row.fields}

    def named(place: tuple[Any, ...]) -> set[str]:
        return {str(path[len(place)]) for path in paths if path[: len(place)] == place and path != place}

    assert named(("cast", 0)) == Seat.model_fields.keys()
    assert named(("opening", 0)) == OpeningLine.model_fields.keys()
    assert named(("events", 0)) == Event.model_fields.keys()
    assert named(("director",)) == Director.model_fields.keys()
    assert named(("narrator",)) == Narrator.model_fields.keys()
    assert named(("stop",)) == Stop.model_fields.keys()
    top = {str(path[0]) for path in paths}
    assert top == (Scene.model_fields.keys() - {"id", "turn_kinds"}) | {"manners"}


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        (("title",), "Fog", "The Ferry", "Fog"),
        (("setting",), "A raft.", "A ferry in fog.", "A raft."),
        (("cast", 1, "name"), "Ben", "Ben Stone", "Ben"),
        (("cast", 0, "person"), True, "the rope.}", "the rope., person: true}"),
        (
            ("cast", 1, "relations", "ann"),
            "Kind.",
            "# at last\n",
            "# at last\n    relations:\n      ann: Kind.\n",
        ),
        (
            ("cast", 2, "name"),
            "Holmes",
            "- sherlock-holmes",
            "- persona: sherlock-holmes\n    name: Holmes",
        ),
        (("director", "kind"), "natural", "round-robin", "natural"),
        (("opening", 0, "text"), "Silence.", "The bell rings.", "Silence."),
        (("stop", "turns"), 5, "robin\n", "robin\nstop:\n  turns: 5\n"),
        (("manners",), ["say"], "robin\n", "robin\nmanners:\n  - say\n"),
    ],
)
def test_a_save_changes_one_value_and_no_comment(
    ferry: YamlDocument, path: tuple[Any, ...], value: Any, before: str, after: str
) -> None:
    save_scene(ferry, _with(ferry.data, value, *path))
    assert ferry.path.read_text() == FERRY.replace(before, after)


def test_values_that_are_the_default_are_not_written(ferry: YamlDocument) -> None:
    data = _with(_with(ferry.data, True, "cast", 1, "person"), False, "cast", 1, "person")
    data = _with(_with(data, "Kind.", "cast", 1, "relations", "ann"), "", "cast", 1, "relations", "ann")
    data = _with(_with(data, True, "narrator"), False, "narrator")
    assert data == ferry.data


def test_an_order_makes_the_director_a_mapping(ferry: YamlDocument) -> None:
    data = _with(_with(ferry.data, "scripted", "director", "kind"), ["ben", "ann"], "director", "order")
    assert data["director"] == {"kind": "scripted", "order": ["ben", "ann"]}
    assert edited_scene(ferry, data).scene.director.order == ("ben", "ann")


def test_a_new_scene_is_named_after_its_title() -> None:
    document = new_scene()
    data = _with(_with(document.data, "At Sea", "title"), "A deck.", "setting")
    with pytest.raises(SceneError, match="'cast' is missing"):
        save_scene(document, data)
    row = scene_rows(data)[row_at(scene_rows(data), ("cast",))]
    assert row.items is not None
    data, seat = with_item(data, row.items, None)
    data = _with(data, "sherlock-holmes", *seat, "persona")
    saved = save_scene(document, data)
    document.let_go()
    assert saved.path == user_paths().scenes / "at-sea.yaml"
    assert load_scene("at-sea").names == {"sherlock-holmes": "Sherlock Holmes"}


def test_a_bundled_scene_is_saved_as_a_copy() -> None:
    found = find_scene("last-booth")
    document = open_scene(found)
    saved = save_scene(document, _with(document.data, "Mine", "title"))
    assert saved.path == user_paths().scenes / "last-booth.yaml"
    assert find_scene("last-booth").scene.title == "Mine"
    assert found.path.read_text() == document.text


def test_a_name_that_is_no_seat_is_told_with_its_line_and_place(ferry: YamlDocument) -> None:
    data = _with(ferry.data, "eve", "opening", 0, "speaker")
    data = _with(data, "say", "opening", 0, "kind")
    with pytest.raises(SeatNameError, match=r"line 14: opening names 'eve'") as caught:
        cast_edited(ferry, edited_scene(ferry, data))
    assert caught.value.location == ("opening", 0, "speaker")
    wrong = _with(ferry.data, "sherlok", "cast", 2, "persona")
    with pytest.raises(SeatPersonaError, match=r"line 11: There is no persona 'sherlok'") as told:
        cast_edited(ferry, edited_scene(ferry, wrong))
    assert told.value.location == ("cast", 2, "persona")


def test_seats_are_offered_by_id(ferry: YamlDocument) -> None:
    assert seat_ids(ferry.data) == ["ann", "ben", "sherlock-holmes"]
    assert [value for _, value in _field(ferry.data, "opening", 0, "speaker").choices] == [
        *("narrator", "ann", "ben", "sherlock-holmes")
    ]
    without = without_item(ferry.data, ("cast", 0))
    assert value_at(without, ("cast", 0, "id")) == "ben"


def test_a_file_by_path_is_edited_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(FERRY)
    document = open_scene(FoundScene(load_scene(path).scene, path, "path"))
    save_scene(document, _with(document.data, "Fog", "title"))
    assert path.read_text() == FERRY.replace("The Ferry", "Fog")


@pytest.mark.parametrize("given", ["ann", 5, [1], {"id": [1]}, {"relations": 3}])
def test_rows_of_a_scene_that_is_not_valid_are_listed(given: Any) -> None:
    scene_rows({"cast": [given], "opening": [given], "events": [given], "director": given, "stop": given})
