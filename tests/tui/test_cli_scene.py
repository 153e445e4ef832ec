"""`rolellm scene list`, `show` and `check`."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import rolellm
from helpers.here import rolellm_here
from helpers.small_scene import PRIVATE, small_scene

from rolellm_agents.config.paths import user_paths

HIDDEN = (
    PRIVATE["about"],
    *PRIVATE["goals"],
    *PRIVATE["secrets"],
    *PRIVATE["knows"],
    *PRIVATE["relations"].values(),
)


def own_scene(**changes: Any) -> Path:
    """A scene in the user's folder."""
    user_paths().scenes.mkdir(parents=True, exist_ok=True)
    return small_scene(user_paths().scenes, **changes)


def test_the_list_names_each_scene_with_its_cast() -> None:
    own = own_scene()
    listed = rolellm_here("scene", "list", "--json")

    assert (listed.returncode, listed.stderr) == (0, "")
    scenes = {one["id"]: one for one in json.loads(listed.stdout)}
    assert scenes["market"] == {
        "id": "market",
        "title": "Market day",
        "cast": ["Ada", "Ben", "Cy"],
        "language": "en",
        "director": "natural",
        "turns": 8,
        "path": str(own),
    }
    assert {"last-booth", "dinner-for-four"} <= set(scenes)
    assert all(
        isinstance(one["title"], str) and one["cast"] and all(isinstance(name, str) for name in one["cast"])
        for one in scenes.values()
    )


def test_the_list_for_people_has_a_row_for_each() -> None:
    own_scene()
    shown = rolellm_here("scene", "list").stdout.splitlines()

    assert shown[0].split() == ["ID", "TITLE", "CAST", "DIRECTOR", "TURNS"]
    (row,) = [line for line in shown if line.startswith("market ")]
    assert row.split() == ["market", "Market", "day", "Ada,", "Ben,", "Cy", "natural", "8"]


def test_a_file_that_is_no_scene_is_told_and_the_others_are_listed() -> None:
    own = own_scene(title="")
    listed = rolellm_here("scene", "list", "--json")

    assert listed.returncode == 0
    assert "market" not in [one["id"] for one in json.loads(listed.stdout)]
    assert listed.stderr.startswith(f"rolellm: {own}, line ")
    assert listed.stderr.count("\n") == 1


def test_a_scene_is_shown_without_what_anybody_hides(tmp_path: Path) -> None:
    scene = str(small_scene(tmp_path))
    shown = rolellm_here("scene", "show", scene)

    assert (shown.returncode, shown.stderr) == (0, "")
    for text in ("Market day", "A market square at noon.", "Ada (ada)", "Cy (cy): joins later", "natural"):
        assert text in shown.stdout
    assert f"rolellm scene run {scene}" in shown.stdout
    assert not [text for text in HIDDEN if text in shown.stdout]


def test_what_they_hide_is_shown_when_asked(tmp_path: Path) -> None:
    shown = rolellm_here("scene", "show", str(small_scene(tmp_path)), "--secrets").stdout

    assert [text for text in HIDDEN if text not in shown] == []
    assert f"    hides: {PRIVATE['secrets'][0]}\n" in shown
    assert f"    Ben: {PRIVATE['relations']['ben']}\n" in shown


def test_who_is_behind_a_mask_is_told_only_with_the_secrets() -> None:
    assert "tyrion-lannister" not in rolellm_here("scene", "show", "masks-at-midnight").stdout
    assert (
        "    is: tyrion-lannister\n"
        in rolellm_here("scene", "show", "masks-at-midnight", "--secrets").stdout
    )


@pytest.mark.parametrize("secrets", [False, True])
def test_a_scene_as_json_has_no_secrets_either_unless_asked(tmp_path: Path, secrets: bool) -> None:
    scene = str(small_scene(tmp_path))
    shown = rolellm_here("scene", "show", scene, "--json", *(["--secrets"] if secrets else [])).stdout
    ada = json.loads(shown)["cast"][0]

    assert json.loads(shown)["setting"] == "A market square at noon."
    assert ada == {"id": "ada", "name": "Ada", **(PRIVATE if secrets else {})}
    assert [text for text in HIDDEN if text in shown] == (list(HIDDEN) if secrets else [])


def test_terminal_sequences_of_a_scene_do_not_reach_the_terminal(tmp_path: Path) -> None:
    scene = small_scene(tmp_path, setting="A \x1b[31mred\x1b[0m room.", title="\x9b1mBold \u202eback")

    for option in ([], ["--json"]):
        shown = rolellm_here("scene", "show", str(scene), *option).stdout
        assert "red" in shown
        assert not {"\x1b", "\x9b", "\u202e"} & set(shown)


def test_good_scenes_are_called_good(tmp_path: Path) -> None:
    scene = str(small_scene(tmp_path))
    checked = rolellm_here("scene", "check", scene, "last-booth")

    assert (checked.returncode, checked.stdout, checked.stderr) == (
        0,
        f"{scene}: valid\nlast-booth: valid\n",
        "",
    )


def test_what_is_wrong_is_told_for_each_file_and_is_the_persons_to_put_right(tmp_path: Path) -> None:
    good = str(small_scene(tmp_path))
    twice = small_scene(tmp_path, id="twice", cast=[{"id": "ada", "name": "Ada"}] * 2)
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("id: wrong\ntitle: Wrong\nsetting: A room.\ncast: nobody\n", encoding="utf-8")
    files = [good, str(twice), str(wrong), "last-both"]

    checked = rolellm_here("scene", "check", *files, "--json")

    assert (checked.returncode, checked.stderr) == (2, "")
    told = json.loads(checked.stdout)
    assert [one["scene"] for one in told] == files
    first, second, third, fourth = (one["problem"] for one in told)
    assert first is None
    assert second == f"{twice}, line 11: two seats have the id 'ada'; give one of them another."
    assert third.startswith(f"{wrong}, line 4: ")
    assert fourth.startswith("There is no scene 'last-both' (did you mean last-booth?)")
    plain = rolellm_here("scene", "check", *files)
    assert (plain.returncode, plain.stdout.splitlines()[0]) == (2, f"{good}: valid")


@pytest.mark.parametrize("command", ["show", "run", "lab"])
@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        (
            "last-both",
            "There is no scene 'last-both' (did you mean last-booth?); “rolellm scene list” shows all.",
        ),
        ("gone.yaml", "gone.yaml cannot be read: No such file or directory."),
    ],
)
def test_a_scene_that_is_not_there(command: str, scene: str, expected: str) -> None:
    said = rolellm_here("scene", command, scene)

    assert (said.returncode, said.stdout, said.stderr) == (2, "", f"rolellm: {expected}\n")


@pytest.mark.core
def test_scenes_are_listed_by_the_command_itself() -> None:
    said = rolellm("scene", "list", "--json")

    assert (said.returncode, said.stderr) == (0, "")
    assert {tuple(one)[:3] for one in json.loads(said.stdout)} == {("id", "title", "cast")}
