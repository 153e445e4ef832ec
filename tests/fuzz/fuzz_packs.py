"""Install an input as a pack, list what is installed, and remove it.

    python tests/fuzz/fuzz_packs.py -max_total_time=3600 CORPUS

The first byte says what the rest is: a zip file as it stands, a manifest, or a file of the pack with its
path on the first line. Only errors for the user may come out, and no file may appear outside of the home.
"""

import os
import sys
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.harness import fuzz, instrumented

with instrumented("rolellm_agents.persona", "rolellm_agents.files"):
    from helpers.cards import png
    from helpers.user_files import ADA

    from rolellm_agents.errors import RoleLLMError
    from rolellm_agents.persona.library import read_persona
    from rolellm_agents.persona.pack_installation import install_pack, remove_pack
    from rolellm_agents.persona.packs import installed_packs

_FOLDER = tempfile.TemporaryDirectory(prefix="rolellm-fuzz-")
_FILE = Path(_FOLDER.name) / "in" / "pack.zip"
_FILE.parent.mkdir()
MANIFEST = "name: sea\nversion: 1.2.0\nlicence: CC0-1.0\ndescription: Sailors.\n"


def _zipped(**members: bytes) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in members.items():
            archive.writestr(path.replace("__", "/"), content)
    return held.getvalue()


_GOOD = {"pack.yaml": MANIFEST.encode(), "personas__ada.yaml": ADA.encode()}


def seeds() -> dict[str, bytes]:
    """A pack, a manifest and a file of each kind."""
    return {
        "zip": b"\0" + _zipped(**_GOOD, personas__ada__png=png()),
        "manifest": b"\1" + MANIFEST.encode(),
        "persona": b"\2personas/ben.yaml\n" + ADA.replace("ada", "ben").encode(),
        "portrait": b"\2personas/ben.yaml\n" + ADA.replace("ada", "ben").encode() + b"portrait: ben.png\n",
        "picture": b"\2personas/ben.png\n" + png(),
    }


def one_input(content: bytes) -> None:
    """Install, list, read and remove."""
    _FILE.write_bytes(_pack_of(content))
    try:
        pack, _ = install_pack(_FILE)
    except RoleLLMError:
        pack = None
    packs, complaints = installed_packs()
    assert (len(packs), complaints) == (int(pack is not None), {})
    for found in packs:
        for path in found.personas:
            read_persona(path)
        remove_pack(found.manifest.name)
    assert {path.name for path in Path(_FOLDER.name).iterdir()} <= {"home", "in"}
    assert list(_FILE.parent.iterdir()) == [_FILE]


def _pack_of(content: bytes) -> bytes:
    if content[:1] == b"\1":
        return _zipped(**{**_GOOD, "pack.yaml": content[1:]})
    if content[:1] == b"\2":
        path, _, rest = content[1:].partition(b"\n")
        name = (
            path.decode("latin-1").partition("\0")[0] or "x"
        )  # zipfile cannot write a file without a name
        return _zipped(**{**_GOOD, name: rest})
    return content[1:]


if __name__ == "__main__":
    os.environ["ROLELLM_HOME"] = str(Path(_FOLDER.name) / "home")
    fuzz(one_input)
