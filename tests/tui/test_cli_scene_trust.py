"""Models that a scene from elsewhere names: used after a yes, replaced by `-m`, otherwise refused."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.here import rolellm_here
from helpers.improvising_model import Asked, improvising
from helpers.small_scene import NAMES, small_scene
from helpers.user_files import conversation_ids, write_config

from rolellm_agents.config.paths import user_paths
from rolellm_tui.cli.scene import trust

CAST = [{"id": "ada", "name": "Ada", "model": "improvising:theirs"}, {"id": "ben", "name": "Ben"}]


@pytest.fixture(autouse=True)
def asked() -> Iterator[list[Asked]]:
    """Every call of the models of these tests."""
    write_config('model = "improvising:mine"\n')
    with improvising(names=NAMES) as calls:
        yield calls


def strangers(folder: Path, **changes: Any) -> Path:
    fields = {"cast": CAST, "events": [], "opening": [], "narrator": None, "director": "round-robin"}
    return small_scene(folder, **{**fields, **changes})


def styles(asked: list[Asked]) -> set[str]:
    return {one.style for one in asked}


def run(scene: Path | str, *options: str, stdin: str = "") -> Any:
    return rolellm_here("scene", "run", str(scene), "--turns", "2", *options, stdin=stdin)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody can be asked."""
    monkeypatch.setattr(trust, "_can_ask", lambda: True)


def test_without_a_terminal_it_is_refused_before_any_call(tmp_path: Path, asked: list[Asked]) -> None:
    scene = strangers(tmp_path)
    said = run(scene)

    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == (
        f"rolellm: {scene} comes from elsewhere and names models to which you have not agreed "
        "(ada: improvising:theirs); name your own model with -m, or agree with --trust-file-models.\n"
    )
    assert (asked, conversation_ids()) == ([], [])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model": "improvising:theirs"},
        {"director": {"kind": "model", "model": "improvising:theirs"}},
        {"narrator": {"every": 1, "model": "improvising:theirs"}},
        # A seat must not hide another place with the same name.
        {"cast": [{"id": "the-director", "name": "Ada", "model": "improvising:theirs"}]},
    ],
)
def test_a_model_on_the_command_line_plays_all_seats(
    tmp_path: Path, asked: list[Asked], changes: dict[str, Any]
) -> None:
    said = run(strangers(tmp_path, **changes), "-m", "improvising:told")

    assert said.returncode == 0
    assert "its models are left out, and improvising:told plays all seats" in said.stderr
    assert styles(asked) == {"told"}


def test_the_flag_is_a_yes(tmp_path: Path, asked: list[Asked]) -> None:
    assert run(strangers(tmp_path), "--trust-file-models").returncode == 0
    assert styles(asked) == {"theirs", "mine"}
    assert not user_paths().agreements_file.exists()


@pytest.mark.usefixtures("terminal")
def test_a_yes_is_kept_for_this_content(tmp_path: Path, asked: list[Asked]) -> None:
    scene = strangers(tmp_path)
    said = run(scene, stdin="y\n")

    assert f"{scene} comes from elsewhere and names models:" in said.stderr
    assert "ada: improvising:theirs may send the prompts, and your key, to" in said.stderr
    assert styles(asked) == {"theirs", "mine"}
    kept = tomllib.loads(user_paths().agreements_file.read_text())
    assert kept[str(scene)]["models"] == ["ada: improvising:theirs"]

    assert "elsewhere" not in run(scene).stderr
    changed = [{**CAST[0], "model": "improvising:others"}, CAST[1]]
    assert "improvising:others" in run(strangers(tmp_path, cast=changed), stdin="n\n").stderr
    assert styles(asked) == {"theirs", "mine"}


@pytest.mark.usefixtures("terminal")
def test_after_a_no_ones_own_model_plays(tmp_path: Path, asked: list[Asked]) -> None:
    said = run(strangers(tmp_path), stdin="\n")

    assert "“no” plays the scene with improvising:mine" in said.stderr
    assert styles(asked) == {"mine"}


@pytest.mark.parametrize("folder", ["scenes", "runs"])
def test_ones_own_scenes_are_played_without_a_question(asked: list[Asked], folder: str) -> None:
    place: Path = getattr(user_paths(), folder)
    place.mkdir(parents=True)
    assert run(strangers(place)).returncode == 0
    assert styles(asked) == {"theirs", "mine"}


def test_a_path_through_ones_own_folder_leads_elsewhere(asked: list[Asked]) -> None:
    for folder in (user_paths().scenes, user_paths().packs):
        folder.mkdir(parents=True)
    strangers(user_paths().packs)
    assert run(user_paths().scenes / ".." / "packs" / "market.yaml").returncode == 2
    assert asked == []


def test_scripted_and_bundled_models_need_no_yes(tmp_path: Path) -> None:
    cast = [{**CAST[0], "model": "scripted:Pears."}, {**CAST[1], "model": "scripted:No."}]
    assert run(strangers(tmp_path, cast=cast)).returncode == 0


def test_a_seat_model_replaces_the_files_also_when_the_scene_goes_on(
    tmp_path: Path, asked: list[Asked]
) -> None:
    assert run(strangers(tmp_path), "--seat-model", "ada=improvising:told").returncode == 0
    assert styles(asked) == {"told", "mine"}
    (kept,) = conversation_ids()
    exported = rolellm_here("history", "export", kept, "--format", "json").stdout
    assert "improvising:theirs" not in json.dumps(json.loads(exported)["extensions"])


def test_the_lab_asks_for_the_same(tmp_path: Path, asked: list[Asked]) -> None:
    scene = str(strangers(tmp_path))
    options = ("--seeds", "1", "--turns", "2", "--out", str(tmp_path / "lab"))

    assert rolellm_here("scene", "lab", scene, *options).returncode == 2
    assert asked == []
    assert rolellm_here("scene", "lab", scene, *options, "--models", "improvising:told").returncode == 0
    assert styles(asked) == {"told"}


def test_a_live_replay_of_a_strangers_record_asks(tmp_path: Path, asked: list[Asked]) -> None:
    out = tmp_path / "run.jsonl"
    run(strangers(tmp_path), "--trust-file-models", "--out", str(out))
    asked.clear()

    refused = rolellm_here("scene", "replay", str(out), "--live")
    assert (refused.returncode, asked) == (2, [])
    assert "(ada: improvising:theirs, ben: improvising:mine" in refused.stderr
    assert rolellm_here("scene", "replay", str(out)).returncode == 0
    assert asked == []
    rolellm_here("scene", "replay", str(out), "--model", "improvising:told")
    assert styles(asked) == {"told"}
    asked.clear()
    assert rolellm_here("scene", "replay", str(out), "--live", "--trust-file-models").returncode == 0
    assert styles(asked) == {"theirs", "mine"}


def test_an_imported_scene_brings_no_models(tmp_path: Path) -> None:
    run(strangers(tmp_path), "--trust-file-models")
    (kept,) = conversation_ids()
    exported = json.loads(rolellm_here("history", "export", kept, "--format", "json").stdout)
    scene = exported["extensions"]["scene"]
    scene["model"] = "openai:gpt-4o"
    scene["director"] = {"kind": "model", "model": "openai:gpt-4o"}
    scene["narrator"] = {"model": "openai:gpt-4o"}
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(exported))
    assert rolellm_here("history", "import", str(file)).returncode == 0

    (new,) = set(conversation_ids()) - {kept}
    again = rolellm_here("history", "export", new, "--format", "json").stdout
    extensions = json.dumps(json.loads(again)["extensions"])
    assert "improvising:theirs" not in extensions
    assert "openai:gpt-4o" not in extensions
