"""Packs: installed whole or not at all, and never out of their folder."""

import stat
import zipfile
from pathlib import Path

import pytest
from helpers.user_files import ADA, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PackError
from rolellm_agents.persona import find_persona, list_personas
from rolellm_agents.persona.pack_installation import install_pack, remove_pack
from rolellm_agents.persona.packs import bundled_pack, installed_packs

MANIFEST = "name: sea\nversion: 1.2.0\nlicence: CC0-1.0\ndescription: Sailors.\n"
BEN = ADA.replace("ada", "ben").replace("Ada", "Ben")


def make_pack(folder: Path, manifest: str = MANIFEST, **personas: str) -> Path:
    (folder / "personas").mkdir(parents=True)
    (folder / "pack.yaml").write_text(manifest)
    for name, text in (personas or {"ben": BEN}).items():
        (folder / "personas" / f"{name}.yaml").write_text(text)
    return folder


def make_zip(file: Path, **members: str) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return file


def zipped(folder: Path, inside: str = "") -> Path:
    file = folder.with_suffix(".zip")
    with zipfile.ZipFile(file, "w") as archive:
        for path in folder.rglob("*"):
            archive.write(path, inside + path.relative_to(folder).as_posix())
    return file


@pytest.mark.parametrize("inside", ["", "sea-1.2.0/"])
def test_a_pack_comes_from_a_folder_or_a_zip_and_its_personas_are_found(
    tmp_path: Path, inside: str
) -> None:
    folder = make_pack(tmp_path / "source")
    for source in (folder, zipped(folder, inside)):
        pack, _ = install_pack(source)
        assert (pack.manifest.name, pack.manifest.licence) == ("sea", "CC0-1.0")
        assert pack.folder == user_paths().packs / "sea"
        found = find_persona("ben")
        assert (found.origin, found.persona.name) == ("pack", "Ben")
        assert [found.persona.id for found in list_personas().found if found.origin == "pack"] == ["ben"]


def test_a_new_version_replaces_the_old_one_whole(tmp_path: Path) -> None:
    install_pack(make_pack(tmp_path / "one", ben=BEN, ada=ADA))
    pack, replaced = install_pack(make_pack(tmp_path / "two", MANIFEST.replace("1.2.0", "2.0.0"), ben=BEN))
    assert replaced is not None
    assert (replaced.manifest.version, pack.manifest.version) == ("1.2.0", "2.0.0")
    assert [path.stem for path in pack.personas] == ["ben"]
    assert [path.name for path in user_paths().packs.iterdir()] == ["sea"]


def test_a_removed_pack_is_gone(tmp_path: Path) -> None:
    install_pack(make_pack(tmp_path / "one"))
    remove_pack("sea")
    assert installed_packs() == ([], {})
    assert list(user_paths().packs.iterdir()) == []
    with pytest.raises(PackError, match=r"no installed pack 'sea'.*pack list"):
        remove_pack("sea")


def test_two_packs_and_the_user_with_the_same_persona(tmp_path: Path) -> None:
    install_pack(make_pack(tmp_path / "one"))
    install_pack(
        make_pack(
            tmp_path / "two", MANIFEST.replace("sea", "air"), ben=BEN.replace("Ben is", "Ben, a pilot, is")
        )
    )
    assert "pilot" in find_persona("ben").persona.description
    (note,) = list_personas().notes
    assert "air/personas/ben.yaml hides" in note
    assert "sea/personas/ben.yaml: both have the id 'ben'" in note
    write_persona(BEN, "ben.yaml")
    assert find_persona("ben").origin == "user"
    assert len(list_personas().notes) == 2


def test_what_lies_broken_among_the_packs_is_told_and_disturbs_nobody(tmp_path: Path) -> None:
    install_pack(make_pack(tmp_path / "one"))
    (user_paths().packs / "junk").mkdir()
    assert find_persona("ben").origin == "pack"
    (note,) = list_personas().notes
    assert "junk is not a pack" in note


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({}, "has no pack.yaml"),
        ({"pack.yaml": "name: sea\n"}, "'version' is missing"),
        ({"pack.yaml": MANIFEST + "author: me\n"}, "unknown key 'author'"),
        ({"pack.yaml": MANIFEST.replace("sea", "../sea")}, "name"),
        ({"pack.yaml": MANIFEST}, "contains no persona and no scene"),
        ({"pack.yaml": MANIFEST, "personas__ben.yaml": "id: ben\n"}, "cannot be used.*ben.yaml"),
        ({"pack.yaml": MANIFEST, "personas__a.yaml": BEN, "personas__b.yaml": BEN}, "holds ben twice"),
        ({"pack.yaml": MANIFEST, "personas__ben.yaml": BEN, "..__evil.yaml": "x"}, "leads out of it"),
        ({"pack.yaml": MANIFEST, "personas__ben.yaml": BEN, "__etc__evil.yaml": "x"}, "leads out of it"),
        (
            {"pack.yaml": MANIFEST, "personas__ben.yaml": BEN, "a__..__..__evil.yaml": "x"},
            "leads out of it",
        ),
        ({"pack.yaml": MANIFEST, "personas__ben.yaml": BEN, "C:__evil.yaml": "x"}, "leads out of it"),
        ({"pack.yaml": MANIFEST, "personas__ben.yaml": BEN, "..\\evil.yaml": "x"}, "leads out of it"),
        ({"pack.yaml": MANIFEST, "personas__ben.yaml": BEN, "run.py": "x"}, "texts and pictures only"),
    ],
)
def test_a_bad_pack_is_told_and_leaves_nothing(tmp_path: Path, members: dict[str, str], told: str) -> None:
    source = make_zip(tmp_path / "bad.zip", **members)
    with pytest.raises(PackError, match=told):
        install_pack(source)
    assert not user_paths().packs.exists() or list(user_paths().packs.iterdir()) == []
    assert not list(tmp_path.rglob("evil.yaml"))


def test_a_bad_new_version_leaves_the_old_one(tmp_path: Path) -> None:
    install_pack(make_pack(tmp_path / "one"))
    with pytest.raises(PackError):
        install_pack(make_pack(tmp_path / "two", ben="id: ben\n"))
    assert find_persona("ben").origin == "pack"


def test_links_are_refused(tmp_path: Path) -> None:
    folder = make_pack(tmp_path / "source")
    (folder / "personas" / "secret.yaml").symlink_to("/etc/passwd")
    with pytest.raises(PackError, match="holds a link"):
        install_pack(folder)
    file = tmp_path / "link.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("pack.yaml", MANIFEST)
        link = zipfile.ZipInfo("personas/secret.yaml")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(PackError, match="holds a link"):
        install_pack(file)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "bomb.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pack.yaml", MANIFEST)
        archive.writestr("personas/ben.yaml", b"\0" * 210_000_000)
    assert file.stat().st_size < 1_000_000
    with pytest.raises(PackError, match="210 MB; at most"):
        install_pack(file)


@pytest.mark.parametrize(
    ("content", "told"), [(None, "There is no pack at"), (b"nothing", "neither a folder nor a zip file")]
)
def test_what_is_no_pack_at_all(tmp_path: Path, content: bytes | None, told: str) -> None:
    source = tmp_path / "pack.zip"
    if content is not None:
        source.write_bytes(content)
    with pytest.raises(PackError, match=told):
        install_pack(source)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("#", b"\0"),  # an empty path
        (".", b"."),  # a path without parts
    ],
)
def test_a_file_without_a_name_is_told(tmp_path: Path, name: str, changed: bytes) -> None:
    file = make_zip(tmp_path / "odd.zip", **{"pack.yaml": MANIFEST, "personas__ben.yaml": BEN, name: "x"})
    file.write_bytes(file.read_bytes().replace(name.encode() + b"x", changed + b"x"))
    content = file.read_bytes()
    at = content.rfind(b"PK\x01\x02")
    file.write_bytes(content[:at] + content[at:].replace(name.encode(), changed, 1))
    with pytest.raises(PackError, match="leads out of it"):
        install_pack(file)


def test_a_path_of_many_levels_is_refused(tmp_path: Path) -> None:
    deep = "a/" * 600 + "x.txt"
    file = make_zip(tmp_path / "deep.zip", **{"pack.yaml": MANIFEST, "personas__ben.yaml": BEN, deep: "x"})
    folder = make_pack(tmp_path / "deep")
    (folder / ("a/" * 60)).mkdir(parents=True)
    for source in (file, folder):
        with pytest.raises(PackError, match=r"holds a path of more than 50 levels \(a/a/"):
            install_pack(source)


def test_a_compressed_file_that_is_damaged_is_told(tmp_path: Path) -> None:
    file = tmp_path / "damaged.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pack.yaml", MANIFEST)
        archive.writestr("personas/ben.yaml", BEN * 9)
    content = bytearray(file.read_bytes())
    at = content.find(b"personas/ben.yaml") + len("personas/ben.yaml")
    content[at : at + 40] = b"\xff" * 40
    file.write_bytes(content)
    with pytest.raises(PackError, match="is a damaged or locked zip file"):
        install_pack(file)


def test_a_damaged_zip_is_told(tmp_path: Path) -> None:
    file = zipped(make_pack(tmp_path / "source"))
    content = bytearray(file.read_bytes())
    content[40:60] = b"x" * 20
    file.write_bytes(content)
    with pytest.raises(PackError):
        install_pack(file)


def test_the_bundled_cast_is_a_pack_too() -> None:
    pack = bundled_pack()
    assert (pack.manifest.name, len(pack.personas)) == ("rolellm-cast", 100)
