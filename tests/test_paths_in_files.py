"""Every field of a file that names another file, with paths that lead to a secret.

docs/security.md lists the fields. Each of them is tried with each path in `LEADING_OUT`; what comes out
must not contain the secret.
"""

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.cards import based, png, v3
from helpers.user_files import ADA

from rolellm_agents.cards import CardError, read_cards
from rolellm_agents.chat_files.importing import import_chat_file
from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.persona import find_persona
from rolellm_agents.persona.from_card.files import export_persona, import_file, read_card
from rolellm_agents.persona.pack_installation import install_pack
from rolellm_agents.scene import load_scene
from rolellm_agents.transcript import Transcript
from rolellm_graphs.scene.stage import stored_scene
from rolellm_tui.widgets.library.pictures import load_portrait

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes symbolic links")

SECRET = "the-secret-word"
SCENE = {"id": "evil", "title": "Evil", "setting": "A room.", "cast": [{"persona": "PATH"}]}


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A stranger's folder; beside it lie a secret, and a picture and a persona that contain it."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "secret.png").write_bytes(png(("comment", SECRET.encode())))
    (tmp_path / "secret.yaml").write_text(ADA.replace("a mathematician", SECRET))
    place = tmp_path / "strangers"
    place.mkdir()
    for suffix in ("txt", "png", "yaml"):
        (place / f"link.{suffix}").symlink_to(tmp_path / f"secret.{suffix}")
    (place / "out").symlink_to(tmp_path)
    os.mkfifo(place / "pipe")
    return place


LEADING_OUT = [
    *(
        "../secret.SUFFIX",
        "HOME/secret.SUFFIX",
        "link.SUFFIX",
        "out/secret.SUFFIX",
        "a/../../secret.SUFFIX",
    ),
    *("../secret.txt", "/dev/zero", "pipe", ".", "..", "a/" * 1500 + "x", "\u2029", "~/secret.SUFFIX"),
]


def exported(persona: Path, tmp_path: Path) -> bytes:
    """Everything that comes out of a persona: all kinds of cards, and the picture in the app."""
    found = find_persona(persona)
    outs = b""
    for format_ in ("charx", "png", "yaml"):
        out = tmp_path / f"out.{format_}"
        try:
            export_persona(found, format_, "v3", out)
        except RoleLLMError:
            assert not out.exists()
            continue
        outs += out.read_bytes()
        if format_ == "charx":
            (card,) = read_cards(out)
            outs += b"".join(card.files.values()) + (card.image or b"")
    for look in (load_portrait, lambda found: read_card(str(found.path))):
        try:
            look(found)
        except (RoleLLMError, CardError):
            continue
    return outs + b"".join(path.read_bytes() for path in tmp_path.glob("out.files/**/*") if path.is_file())


def portrait(stranger: Path, path: str) -> bytes:
    """`portrait` of a persona."""
    (stranger / "ada.yaml").write_text(f"{ADA}portrait: {json.dumps(path)}\n")
    return exported(stranger / "ada.yaml", stranger.parent)


def listed_files(stranger: Path, path: str) -> bytes:
    """`extensions.card.files` of a persona, which lie in a folder of their own."""
    folder = stranger / "ada.files"
    folder.mkdir()
    for entry in [*stranger.iterdir()]:
        if entry != folder:
            entry.rename(folder / entry.name)
    card = json.dumps({"card": {"document": v3(), "files": [path, f"../{path}"]}})
    (stranger / "ada.yaml").write_text(f"{ADA}extensions: {card}\n")
    return exported(stranger / "ada.yaml", stranger.parent)


def asset(stranger: Path, path: str) -> bytes:
    """`assets[].uri` of a card."""
    outs = b""
    for scheme in ("embeded://", "embedded://", "__asset:", "file://", ""):
        assets = [{"type": "icon", "uri": scheme + path, "name": "main", "ext": "png"}]
        (stranger / "card.png").write_bytes(png(("ccv3", based(v3(assets=assets)))))
        with zipfile.ZipFile(stranger / "card.charx", "w") as archive:
            archive.writestr("card.json", json.dumps(v3(assets=assets)))
        for name in ("card.png", "card.charx"):
            (one,) = import_file(stranger / name, stranger / "in", stranger / "books", force=True)
            outs += exported(one.path, stranger.parent)
    return outs


def member(stranger: Path, path: str) -> bytes:
    """Paths of the files in an archive, which must not be written to."""
    before = {file: file.read_bytes() for file in stranger.parent.glob("secret.*")}
    with zipfile.ZipFile(stranger / "card.charx", "w") as archive:
        archive.writestr("card.json", json.dumps(v3()))
        archive.writestr(zipfile.ZipInfo(path.replace("SUFFIX", "txt")), "overwritten")
    try:
        import_file(stranger / "card.charx", stranger / "in", stranger / "books", force=True)
    except RoleLLMError:
        assert not list((stranger / "in").glob("*"))
    assert before == {file: file.read_bytes() for file in stranger.parent.glob("secret.*")}
    return b""


def packs_portrait(stranger: Path, path: str) -> bytes:
    """`portrait` of a persona in a pack, which is not even installed."""
    with zipfile.ZipFile(stranger / "pack.zip", "w") as archive:
        archive.writestr("pack.yaml", "name: sea\nversion: '1'\nlicence: CC0-1.0\n")
        archive.writestr("personas/ada.yaml", f"{ADA}portrait: {json.dumps(path)}\n")
    with pytest.raises(RoleLLMError, match=r"The pack cannot be used: ada\.yaml: The portrait"):
        install_pack(stranger / "pack.zip")
    return b""


def seat(stranger: Path, path: str) -> bytes:
    """`persona` of a scene's seat, if it ends like a file; everything else is an id or a name."""
    (stranger / "evil.yaml").write_text(json.dumps(SCENE).replace("PATH", json.dumps(path)[1:-1]))
    try:
        return repr(load_scene(stranger / "evil.yaml")).encode()
    except RoleLLMError as error:
        return str(error).encode()


def imported_scene(stranger: Path, path: str) -> bytes:
    """`persona` of a seat, and `path`, in a conversation that is imported."""
    definition = json.loads(json.dumps(SCENE).replace("PATH", json.dumps(path)[1:-1]))
    document: dict[str, Any] = {
        "format": "rolellm-conversation",
        "version": 1,
        "persona": "scene:evil",
        "title": "",
        "created": "2026-01-01T00:00:00Z",
        "branch": "main",
        "branches": {"main": None},
        "extensions": {"scene": definition, "path": str(stranger.parent / "x.yaml"), "seed": "nothing"},
        "messages": [],
    }
    (stranger / "chat.json").write_text(json.dumps(document))
    with Transcript(user_paths().transcript) as transcript:
        try:
            (one,) = import_chat_file(stranger / "chat.json", transcript)
            return repr(stored_scene(transcript, one.id)).encode()
        except RoleLLMError as error:
            return str(error).encode()


def chat_persona(stranger: Path, path: str) -> bytes:
    """The persona that a conversation names."""
    lines = [{"character_name": path}, {"name": path, "mes": "Hello."}]
    (stranger / "chat.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Transcript(user_paths().transcript) as transcript:
        try:
            return repr(import_chat_file(stranger / "chat.jsonl", transcript)).encode()
        except RoleLLMError as error:
            return str(error).encode()


FIELDS: list[tuple[Callable[[Path, str], bytes], str]] = [
    (portrait, "png"),
    (listed_files, "txt"),
    (asset, "png"),
    (member, "txt"),
    (packs_portrait, "png"),
    (seat, "yaml"),
    (imported_scene, "yaml"),
    (chat_persona, "yaml"),
]


@pytest.mark.parametrize("path", LEADING_OUT)
@pytest.mark.parametrize(("field", "suffix"), FIELDS, ids=[field.__name__ for field, _ in FIELDS])
def test_no_path_leads_out(
    stranger: Path,
    field: Callable[[Path, str], bytes],
    suffix: str,
    path: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(stranger.parent))
    monkeypatch.chdir(stranger.parent)
    told = field(stranger, path.replace("HOME", str(stranger.parent)).replace("SUFFIX", suffix))
    assert SECRET.encode() not in told


def test_what_lies_in_the_folder_is_used(stranger: Path) -> None:
    (stranger / "face.png").write_bytes(png(("comment", SECRET.encode())))
    assert SECRET.encode() in portrait(stranger, "face.png")
    (stranger / "eve.yaml").write_text(ADA.replace("a mathematician", SECRET))
    assert SECRET.encode() in seat(stranger, "eve.yaml")
    assert SECRET.encode() in imported_scene(stranger, "eve.yaml")
