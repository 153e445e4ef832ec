"""`rolellm persona import`, `export`, `lore`, `lint` and `diff`, as their user runs them."""

import json
from pathlib import Path

import pytest
from helpers.cards import SHARED, based, book, entry, pixels, png, v2, v3
from helpers.here import rolellm_here

from rolellm_agents.cards import convert, read_cards
from rolellm_agents.config.paths import user_paths

LORE = book(
    entry(name="Lamp", comment="Lamp"),
    entry(comment="Gulls", keys=["gull"], content="{{char}} calls gulls thieves."),
    entry(comment="Rock", keys=[], constant=True, content="The rock is called Skerry."),
)


@pytest.fixture
def ada(tmp_path: Path) -> Path:
    file = tmp_path / "ada.png"
    file.write_bytes(png(("chara", based(v2(character_book=LORE)))))
    return file


def test_an_imported_card_is_in_the_cast_and_speaks_with_its_lore(ada: Path) -> None:
    imported = rolellm_here("persona", "import", str(ada))
    assert imported.returncode == 0, imported.stderr
    assert "ada: Ada (persona, 3 lore entries)" in imported.stdout
    assert (user_paths().personas / "ada.png").is_file()
    said = rolellm_here(
        "say", "ada", "Is the lamp lit?", "--model", "scripted:", "--strategy", "system", "--json"
    )
    assert said.returncode == 0, said.stderr
    lore = json.loads(said.stdout)["made_by"]["lore_fired"]
    assert [item["name"] for item in lore] == ["Lamp", "Rock"]
    assert "lamp" in lore[0]["why"]


def test_import_tells_in_json_and_goes_where_it_is_told(ada: Path, tmp_path: Path) -> None:
    imported = rolellm_here("persona", "import", str(ada), "--to", str(tmp_path / "cast"), "--json")
    (one,) = json.loads(imported.stdout)
    assert (one["kind"], one["id"], one["lore"]) == ("persona", "ada", 3)
    assert one["path"] == str(tmp_path / "cast" / "ada.yaml")


def test_a_folder_is_imported_and_what_is_refused_stops_nothing(ada: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(ada.read_bytes()[:-40])
    (tmp_path / "photo.png").write_bytes(png())
    imported = rolellm_here("persona", "import", str(tmp_path))
    assert imported.returncode == 2
    assert "ada: Ada" in imported.stdout
    refused = imported.stderr.strip().splitlines()
    assert len(refused) == 2
    assert "broken.png is truncated" in refused[0]
    assert "photo.png is a picture without a card" in refused[1]
    again = rolellm_here("persona", "import", str(ada))
    assert again.returncode == 2
    assert "exists already; use --force" in again.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "There is no card in" in rolellm_here("persona", "import", str(empty)).stderr


@pytest.mark.parametrize("name", ["out.json", "out.png", "out.charx"])
def test_export_and_import_again(ada: Path, tmp_path: Path, name: str) -> None:
    rolellm_here("persona", "import", str(ada))
    out = tmp_path / name
    exported = rolellm_here("persona", "export", "ada", "--out", str(out))
    assert exported.returncode == 0, exported.stderr
    (card,) = read_cards(out)
    assert card.spec == "v3"
    assert card.name == "Ada"
    refused = rolellm_here("persona", "export", "ada", "--out", str(out))
    assert refused.returncode == 2
    assert "already exists" in refused.stderr


def test_export_as_yaml_and_of_v2(ada: Path, tmp_path: Path) -> None:
    assert rolellm_here("persona", "export", str(ada), "--out", str(tmp_path / "a.yaml")).returncode == 0
    assert "name: Ada" in (tmp_path / "a.yaml").read_text()
    out = tmp_path / "two.json"
    assert rolellm_here("persona", "export", str(ada), "--spec", "v2", "--out", str(out)).returncode == 0
    assert json.loads(out.read_text()) == v2(character_book=LORE)
    failed = rolellm_here("persona", "export", str(ada), "--out", str(tmp_path / "x.doc"))
    assert failed.returncode == 2
    assert "The format of" in failed.stderr


def test_what_other_programs_lose_is_told(tmp_path: Path) -> None:
    file = tmp_path / "ada.json"
    file.write_text(json.dumps(v3(nickname="A.")))
    exported = rolellm_here(
        "persona", "export", str(file), "--spec", "v2", "--out", str(tmp_path / "two.png")
    )
    assert exported.returncode == 0
    assert "ignore, in v2: nickname" in exported.stderr


def test_lore_says_what_fires_and_why(ada: Path) -> None:
    shown = rolellm_here("persona", "lore", str(ada), "--text", "A gull!", "--all")
    assert shown.returncode == 0, shown.stderr
    assert "Gulls" in shown.stdout
    assert "| Ada calls gulls thieves." in shown.stdout
    assert "The rock is called Skerry." in shown.stdout
    assert "- Lamp: " in shown.stdout
    as_json = json.loads(rolellm_here("persona", "lore", str(ada), "--text", "A gull!", "--json").stdout)
    assert {fired["name"] for fired in as_json["fired"]} == {"Gulls", "Rock"}
    by_name = {one["name"]: one for one in as_json["entries"]}
    assert (by_name["Gulls"]["why"], by_name["Gulls"]["key"]) == ("key", "gull")
    assert (by_name["Lamp"]["active"], by_name["Lamp"]["why"]) == (False, "no_key")


def test_a_lorebook_of_the_world_works_beside_a_persona(tmp_path: Path) -> None:
    file = tmp_path / "Swamps.json"
    file.write_text(json.dumps({"entries": {"0": {"uid": 0, "key": ["leech"], "content": "Leeches hum."}}}))
    say = ("say", "shrek", "A leech!", "--model", "scripted:", "--json", "--lorebook")
    for name in (str(file), "swamps"):
        said = rolellm_here(*say, name)
        assert said.returncode == 0, said.stderr
        assert len(json.loads(said.stdout)["made_by"]["lore_fired"]) == 1
        rolellm_here("persona", "import", str(file))
    failed = rolellm_here(*say, "swamp")
    assert failed.returncode == 2
    assert "There is no lorebook 'swamp' (did you mean swamps?)" in failed.stderr


def test_too_many_expressions_are_told_once_by_each_command(tmp_path: Path) -> None:
    many = book(*(entry(keys=[f"/w{number}x/"]) for number in range(2_001)))
    (tmp_path / "ada.json").write_text(json.dumps(v2(character_book=many)))
    told = "The lorebook has 2,001 regular expressions with 10,896 characters; at most 2,000 with 200,000"
    imported = rolellm_here("persona", "import", str(tmp_path / "ada.json"))
    assert imported.stdout.count(told) == 1
    for command in (
        ("persona", "lore", "ada", "--text", "Hello."),
        ("say", "ada", "Hello.", "--model", "scripted:Hm."),
        ("chat", "ada", "--plain", "--model", "scripted:Hm."),
    ):
        done = rolellm_here(*command, stdin="Hello.\nAgain.\n" if "--plain" in command else "")
        assert (done.returncode, done.stderr.count(told)) == (0, 1), done.stderr


def test_lore_of_who_has_none() -> None:
    failed = rolellm_here("persona", "lore", "shrek", "--text", "onions")
    assert failed.returncode == 2
    assert "Shrek has no lorebook" in failed.stderr


def test_lint_and_diff(ada: Path, tmp_path: Path) -> None:
    linted = rolellm_here("persona", "lint", str(ada))
    assert "Tokens: " in linted.stdout
    as_json = json.loads(rolellm_here("persona", "lint", str(ada), "--json").stdout)
    assert set(as_json) == {"findings", "tokens"}
    same = rolellm_here("persona", "diff", str(ada), str(ada))
    assert (same.returncode, same.stdout) == (0, "No differences.\n")
    other = tmp_path / "other.json"
    other.write_text(json.dumps(v2(character_book=LORE, personality="Wry.")))
    differs = rolellm_here("persona", "diff", str(ada), str(other), "--json")
    assert differs.returncode == 1
    assert any("personality" in change["where"] for change in json.loads(differs.stdout))


def test_no_control_sequence_of_a_card_reaches_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "evil.json"
    evil = "\x1b]0;owned\x07\x1b[31mEve\u202e[link=x]"
    file.write_text(json.dumps(v2(name=evil, first_mes=evil, description=evil, character_book=LORE)))
    for command in (("import",), ("lint",), ("lore",), ("diff",)):
        more = {"lore": ["--text", "gull"], "diff": [str(file)]}.get(command[0], [])
        shown = rolellm_here("persona", *command, str(file), *more)
        assert "\x1b" not in shown.stdout + shown.stderr
        assert "\u202e" not in shown.stdout + shown.stderr


def test_seraphina_from_picture_to_chat_and_back(tmp_path: Path) -> None:
    file = SHARED / "default_Seraphina.png"
    if not file.is_file():
        pytest.skip("she is not here")
    assert rolellm_here("persona", "import", str(file)).returncode == 0
    lore = json.loads(
        rolellm_here("persona", "lore", "seraphina", "--text", "What is Eldoria?", "--json").stdout
    )
    assert any(one["active"] and one["key"] == "eldoria" for one in lore["entries"])
    (original,) = read_cards(file)
    for name in ("out.png", "out.charx"):
        assert rolellm_here("persona", "export", "seraphina", "--out", str(tmp_path / name)).returncode == 0
    (back,) = read_cards(tmp_path / "out.png")
    assert convert(back.document, "v2") == original.document
    assert back.image is not None
    assert pixels(back.image) == pixels(file.read_bytes())
