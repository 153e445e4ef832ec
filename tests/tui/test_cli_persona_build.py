"""`rolellm persona build`, `check` and `pack`, as their user runs them."""

import json
import zipfile
from pathlib import Path

import pytest
from helpers.commands import rolellm
from helpers.here import rolellm_here
from helpers.shared_texts import shared_text
from helpers.user_files import ADA, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.persona import load_persona, read_persona
from rolellm_agents.persona.yaml import to_yaml

PLAY = """The Lamp

SCENE ONE

BEN. Who keeps the lamp?
ADA. I do, upon my oath, and I have kept it alone these eleven years.
BEN. Where is your father?
ADA. Where the herring are. He was a careful man, and once he was not.
COLE. Is anybody there?
"""


@pytest.fixture
def play(tmp_path: Path) -> Path:
    file = tmp_path / "lamp.txt"
    file.write_text(PLAY)
    return file


def test_a_built_persona_lies_in_the_users_cast_and_chats(play: Path) -> None:
    built = rolellm_here("persona", "build", str(play), "--role", "Ada", "--no-model", "--year", "1911")
    assert built.returncode == 0, built.stderr
    assert "rolellm chat ada" in built.stdout
    persona = load_persona("ada")
    assert persona.source is not None
    assert (persona.source.work, persona.source.year) == ("The Lamp", 1911)
    said = rolellm_here("say", "ada", "Who are you?", "--max-tokens", "8")
    assert said.returncode == 0, said.stderr
    assert said.stdout.strip()


def test_out_names_the_file_and_the_id(play: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "keeper.yaml"
    built = rolellm_here(
        "persona", "build", str(play), "--role", "Ada", "--no-model", "--out", str(out), "--json"
    )
    told = json.loads(built.stdout)
    assert (told["id"], told["name"], told["path"]) == ("keeper", "Ada", str(out))
    assert read_persona(out).id == "keeper"
    assert [file.name for file in out.parent.iterdir()] == ["keeper.yaml"]


def test_a_file_that_is_there_is_replaced_only_by_force(play: Path, tmp_path: Path) -> None:
    out = tmp_path / "keeper.yaml"
    out.write_text("mine")
    build = ("persona", "build", str(play), "--role", "Ada", "--no-model", "--out", str(out))
    refused = rolellm_here(*build)
    assert (refused.returncode, out.read_text()) == (2, "mine")
    assert "already exists; name another file with --out, or overwrite it with --force" in refused.stderr
    assert rolellm_here(*build, "--force").returncode == 0
    assert read_persona(out).name == "Ada"


def test_the_embedded_model_is_not_asked_to_write_unless_named(play: Path) -> None:
    built = rolellm_here("persona", "build", str(play), "--role", "Ada")
    assert built.returncode == 0
    assert "embedded model is too small to write a description" in built.stderr
    assert not user_paths().runs.exists()


def test_a_model_takes_notes_in_a_run(play: Path, tmp_path: Path) -> None:
    build = ("persona", "build", str(play), "--role", "Ada", "--model", "scripted:no JSON at all")
    built = rolellm_here(*build, "--run", str(tmp_path / "run"))
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "run" / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("role", "told"),
    [("Adam", "Adam never speaks in The Lamp (did you mean ADA?)"), ("Cole", "Cole speaks only once")],
)
def test_a_role_that_is_not_there(play: Path, role: str, told: str) -> None:
    play.write_text(PLAY + "\nCOLE. (off)\nBEN. Nobody.\nADA. Nobody at all.\n")
    failed = rolellm_here("persona", "build", str(play), "--role", role, "--no-model")
    assert failed.returncode == 2
    assert told in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1
    assert not (user_paths().personas / f"{role.lower()}.yaml").exists()


def test_no_script_and_no_file(tmp_path: Path) -> None:
    for name, told in ((str(tmp_path), "There is no file"), (str(tmp_path / "x.txt"), "There is no file")):
        failed = rolellm_here("persona", "build", name, "--role", "Ada", "--no-model")
        assert failed.returncode == 2
        assert told in failed.stderr


def test_hamlet_from_shakespeares_play() -> None:
    built = rolellm_here(
        "persona", "build", str(shared_text("hamlet.xml")), "--role", "Hamlet", "--no-model", "--json"
    )
    persona = json.loads(built.stdout)
    assert len(persona["demonstrations"]) == 12
    assert {"place", "user", "reply"} <= set(persona["demonstrations"][0])
    checked = rolellm_here("persona", "check", "hamlet", "--json")
    assert {finding["rule"] for finding in json.loads(checked.stdout)["findings"]} == {"part-missing"}


def test_the_whole_cast_is_checked_and_the_voices_are_told() -> None:
    checked = rolellm("persona", "check")
    assert checked.returncode == 0, checked.stdout
    assert "No findings in 100 personas." in checked.stdout
    assert "Voices (en): " in checked.stdout
    assert "(chance 1%)" in checked.stdout
    assert "among five (chance 20%)" in checked.stdout


@pytest.mark.slow
def test_findings_name_the_persona_and_exit_with_two(tmp_path: Path) -> None:
    holmes = load_persona("sherlock-holmes")
    copied = holmes.model_copy(update={"id": "thief", "name": "A Thief"})
    file = tmp_path / "thief.yaml"
    file.write_text(to_yaml(copied))
    checked = rolellm_here("persona", "check", str(file))
    assert checked.returncode == 2
    assert "thief: reply 1 is 100% the same as reply 1 of sherlock-holmes" in checked.stdout
    assert "findings in 1 persona." in checked.stdout
    as_json = json.loads(rolellm_here("persona", "check", str(file), "--json").stdout)
    assert as_json["personas"] == 1
    assert {finding["persona"] for finding in as_json["findings"]} == {"thief"}
    assert 0 <= as_json["voices"]["en"]["hit_rate"] <= 1


def test_a_folder_is_checked_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "ada.yaml").write_text(ADA)
    checked = rolellm_here("persona", "check", str(tmp_path))
    assert checked.returncode == 2
    assert "ada: there is no source" in checked.stdout
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "There is no persona file in" in rolellm_here("persona", "check", str(empty)).stderr


def test_a_pack_is_installed_listed_and_removed(tmp_path: Path) -> None:
    file = tmp_path / "sea.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("pack.yaml", "name: sea\nversion: 1.0.0\nlicence: CC0-1.0\n")
        archive.writestr("personas/ada.yaml", ADA)
    write_persona(ADA)
    installed = rolellm_here("persona", "pack", "install", str(file))
    assert installed.returncode == 0, installed.stderr
    assert "sea 1.0.0: 1 persona, 0 scenes. Licence: CC0-1.0" in installed.stdout
    assert "hides" in installed.stderr
    listed = json.loads(rolellm_here("persona", "pack", "list", "--json").stdout)
    assert [(pack["name"], len(pack["personas"])) for pack in listed] == [("sea", 1), ("rolellm-cast", 100)]
    assert "sea" in rolellm_here("persona", "pack", "list").stdout
    assert rolellm_here("persona", "pack", "remove", "sea").returncode == 0
    again = rolellm_here("persona", "pack", "remove", "sea")
    assert again.returncode == 2
    assert "There is no installed pack 'sea'" in again.stderr


def test_a_bad_pack_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"no zip")
    failed = rolellm_here("persona", "pack", "install", str(tmp_path / "x.zip"))
    assert failed.returncode == 2
    assert "is neither a folder nor a zip file" in failed.stderr
