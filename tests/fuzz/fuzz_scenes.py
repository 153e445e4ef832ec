"""Read an input as a scene's file, cast the scene, and export lines of it in all formats.

    python tests/fuzz/fuzz_scenes.py -max_total_time=3600 CORPUS

Only errors for the user may come out.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.harness import fuzz, instrumented

with instrumented("rolellm_agents.scene", "rolellm_agents.files"):
    from helpers.user_files import ADA

    from rolellm_agents.errors import RoleLLMError
    from rolellm_agents.scene import LoadedScene, SceneLine, cast_scene
    from rolellm_agents.scene.export import SCENE_FORMATS, as_seen_by, uncast
    from rolellm_agents.scene.loading import names_file, read_scene
    from rolellm_agents.scene.view import render_line

_FOLDER = tempfile.TemporaryDirectory(prefix="rolellm-fuzz-")
_FILE = Path(_FOLDER.name) / "room.yaml"
(_FILE.parent / "ada.yaml").write_text(ADA)
_SMALL = "id: room\ntitle: A room\nsetting: A small room.\ncast:\n  - {id: ben, name: Ben}\n  - ada.yaml\n"
_FULL = """\
id: room
title: "A room"
language: en
setting: >-
  A small room
  with one lamp.
time: Night.
tags: [lamp]
cast:
  - persona: ada.yaml
    about: You keep the lamp.
    goals: [Keep it lit.]
    secrets: [There is no oil.]
    knows: [Ben is late.]
    relations: {ben: You like him.}
    talkativeness: 0.5
    model: scripted:Hm.
    strategy: system
  - {id: ben, name: Ben, person: true, present: false}
opening:
  - The bell rings.
  - {speaker: ada, kind: whisper, to: [ben], text: "*smiles* Hush, {{user}}."}
events:
  - {after: 2, join: ben, text: Ben comes in.}
  - {after: 5, leave: ada}
director: {kind: scripted, order: [ada, ben]}
narrator: {about: Dry., every: 3}
manners: [say, act, think]
stop: {turns: 24, said: [The end.], silent: 3}
seed: 7
"""


def seeds() -> dict[str, bytes]:
    """Scenes with few and with all fields."""
    full = _FULL.replace("  - The bell rings.\n", "  - {text: The bell rings.}\n")
    return {"small": _SMALL.encode(), "full": full.encode()}


def one_input(content: bytes) -> None:
    """Read the scene, and do what follows."""
    _FILE.write_bytes(content)
    try:
        scene = read_scene(_FILE)
    except RoleLLMError:
        return
    _export(uncast(scene))
    # An id is looked up in the whole library, which takes too long here.
    if all(seat.persona is None or names_file(seat.persona) for seat in scene.cast):
        try:
            _export(cast_scene(scene, _FILE))
        except RoleLLMError:
            return


def _export(loaded: LoadedScene) -> None:
    seats = list(loaded.seats)
    lines = [
        SceneLine(
            id=str(number),
            speaker=line.speaker,
            kind=line.kind,
            audience=[*seats, "user"],
            text=line.text,
            made_by={},
        )
        for number, line in enumerate(loaded.scene.opening)
        if line.speaker in (*seats, "narrator")
    ]
    for line in lines:
        render_line(loaded, line)
    for write in SCENE_FORMATS.values():
        write(loaded, lines)
        write(loaded, as_seen_by(loaded, lines, seats[0]))


if __name__ == "__main__":
    fuzz(one_input)
