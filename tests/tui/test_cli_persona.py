"""`rolellm persona`."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
from helpers.commands import rolellm
from helpers.here import rolellm_here
from helpers.user_files import ADA, write_persona
from PIL import Image

from rolellm_agents.persona import Persona, load_persona

BROKEN = "id: broken\nname: Broken\ndescription: Somebody.\nfavourite_colour: red\n"


def bundled(language: str = "[ez][nh]") -> set[str]:
    """The ids of the bundled pack; each file is named after its persona's."""
    pack = Path(str(files("rolellm_personas")))
    return {file.stem for file in pack.glob(f"{language}/*.yaml")}


def test_the_list_holds_the_whole_pack_and_says_where_each_is_from() -> None:
    listed = rolellm_here("persona", "list", "--json")

    assert (listed.returncode, listed.stderr) == (0, "")
    cast = {one["id"]: one for one in json.loads(listed.stdout)}
    assert set(cast) == bundled()
    assert len(cast) >= 12
    holmes = cast["sherlock-holmes"]
    path = Path(holmes.pop("path"))
    assert load_persona(path) == load_persona("sherlock-holmes")
    assert holmes == {
        "id": "sherlock-holmes",
        "name": "Sherlock Holmes",
        "language": "en",
        "category": "thinker",
        "tags": list(load_persona("sherlock-holmes").tags),
        "source": {"work": "Sherlock Holmes", "year": 2009},
        "demonstrations": len(load_persona("sherlock-holmes").demonstrations),
        "origin": "bundled",
    }


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (("--language", "zh"), bundled("zh")),
        (("--language", "zh", "--category", "hero"), {"sun-wukong"}),
        (("--language", "fr"), set()),
    ],
)
def test_filters_narrow_the_list(filters: tuple[str, ...], expected: set[str]) -> None:
    listed = rolellm_here("persona", "list", "--json", *filters)

    assert listed.returncode == 0
    assert {one["id"] for one in json.loads(listed.stdout)} == expected


@pytest.mark.core
def test_a_broken_file_is_told_on_stderr_and_stdout_stays_json() -> None:
    write_persona()
    broken = write_persona(BROKEN, "broken.yaml")

    listed = rolellm("persona", "list", "--json")

    assert listed.returncode == 0
    assert listed.stderr.startswith(f"rolellm: {broken}, line 4: unknown key 'favourite_colour'")
    assert listed.stderr.count("\n") == 1
    origins = {one["id"]: one["origin"] for one in json.loads(listed.stdout)}
    assert origins == dict.fromkeys(bundled(), "bundled") | {"ada": "user"}


def test_a_persona_of_the_users_hides_the_bundled_one_and_that_is_told() -> None:
    mine = write_persona(ADA.replace("id: ada", "id: shrek"), "my-shrek.yaml")

    listed = rolellm_here("persona", "list", "--json")

    names = {one["id"]: one["name"] for one in json.loads(listed.stdout)}
    assert names["shrek"] == "Ada"
    assert listed.stderr.startswith(f"rolellm: {mine} hides ")
    assert listed.stderr.endswith("shrek.yaml: both have the id 'shrek'.\n")


def test_people_see_one_row_for_each_with_columns_aligned_in_both_languages() -> None:
    rows = rolellm_here("persona", "list").stdout.splitlines()

    assert rows[0].split() == ["ID", "NAME", "LANGUAGE", "CATEGORY", "FROM"]
    assert {row.split()[0] for row in rows[1:]} == bundled()
    (monkey,) = (row for row in rows if row.startswith("sun-wukong"))
    # Each of the three characters takes two cells, so the language stands three places further left.
    assert monkey.index("zh") == rows[0].index("LANGUAGE") - 3


@pytest.mark.parametrize("reference", ["sun-wukong", "孙悟空"])
def test_show_as_json_is_the_whole_persona(reference: str) -> None:
    shown = rolellm_here("persona", "show", reference, "--json")

    assert (shown.returncode, shown.stderr) == (0, "")
    document = json.loads(shown.stdout)
    assert Path(document.pop("path")).name == "sun-wukong.yaml"
    assert Persona.model_validate(document) == load_persona("sun-wukong")
    assert "孙悟空" in shown.stdout


def test_show_tells_people_everything_in_plain_text(tmp_path: Path) -> None:
    file = tmp_path / "eve.yaml"
    file.write_text(
        "id: eve\nname: 'Eve [bold]'\ndescription: \"Eve is \\e[31ma test\\e[0m.\"\n"
        "source: {work: A Book, year: 1999}\ncategory: rogue\ngreeting: Hello.\n"
        "catchphrases: [Ha., Ho.]\ndemonstrations: [{user: Who?, reply: Me.}]\n"
        "knowledge: [{title: Home, text: I live here.}]\n",
        encoding="utf-8",
    )
    shown = rolellm_here("persona", "show", str(file))

    assert shown.returncode == 0
    assert shown.stdout == (
        "Eve [bold]  (eve · en · rogue · A Book, 1999)\n"
        f"{file}\n\nEve is a test.\n\n"
        "Catchphrases: Ha. · Ho.\n\n"
        "Greeting: Hello.\n\n"
        "  You: Who?\n  Eve [bold]: Me.\n\n"
        "  [Home] I live here.\n\n"
    )


def test_a_pack_tells_which_models_and_files_it_names(tmp_path: Path) -> None:
    pack = tmp_path / "theirs"
    for folder in ("scenes", "personas"):
        (pack / folder).mkdir(parents=True)
    (pack / "pack.yaml").write_text("name: theirs\nversion: 1.0.0\nlicence: CC0-1.0\n")
    (pack / "personas" / "eve.yaml").write_text(
        "id: eve\nname: Eve\ndescription: A thief.\nportrait: eve.png\n"
    )
    Image.new("RGB", (4, 4)).save(pack / "personas" / "eve.png")
    (pack / "scenes" / "vault.yaml").write_text(
        "id: vault\ntitle: Vault\nsetting: A vault.\n"
        "cast: [{persona: ../personas/eve.yaml, id: eve, model: 'openai:gpt-4o'}]\n"
    )
    installed = rolellm_here("persona", "pack", "install", str(pack)).stdout
    shown = rolellm_here("persona", "pack", "show", "theirs")

    told = [
        "  personas/eve.yaml, portrait: eve.png is its picture.",
        "  scenes/vault.yaml, eve: openai:gpt-4o sends the prompts to https://api.openai.com/v1.",
        "  scenes/vault.yaml, eve: ../personas/eve.yaml is its persona's file.",
    ]
    assert installed.splitlines()[1:] == told
    assert (shown.stdout.splitlines()[-3:], shown.returncode) == (told, 0)
    as_json = json.loads(rolellm_here("persona", "pack", "show", "theirs", "--json").stdout)
    assert [one["named"] for one in as_json["names"]] == [
        "eve.png",
        "openai:gpt-4o",
        "../personas/eve.yaml",
    ]
    unknown = rolellm_here("persona", "pack", "show", "their")
    assert "did you mean theirs?" in unknown.stderr


def test_a_portrait_outside_of_the_personas_folder_is_a_finding(tmp_path: Path) -> None:
    folder = tmp_path / "personas"
    folder.mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "eve.png")
    file = folder / "eve.yaml"
    file.write_text("id: eve\nname: Eve\ndescription: A thief.\nportrait: ../eve.png\n", encoding="utf-8")

    checked = rolellm_here("persona", "check", str(file))

    assert checked.returncode == 2
    assert "The portrait ../eve.png is outside of the folder" in checked.stdout
    assert "[unusable-portrait]" in checked.stdout
