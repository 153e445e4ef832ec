"""Write a scene as a SillyTavern group chat: JSON lines, a header and then one object for each line."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rolellm_agents.scene.export.people import cast_of, is_persons, name_of
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.text import one_line, plain, replace_surrogates
from rolellm_agents.text.language import Language

_NARRATOR: dict[Language, str] = {"en": "Narrator", "zh": "旁白"}
_UNUSED = "unused"
"""The placeholder that newer versions write for unused names."""


def write_sillytavern_group(
    loaded: LoadedScene, lines: Sequence[SceneLine], times: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Write the file of a group chat.

    A person's seat becomes the user; every other speaker becomes a member with a card of the seat's name.
    In SillyTavern every member sees every message. Whispers, thoughts and acts differ only in how their
    text begins and in `extra.rolellm` (`seat`, `kind`, `audience`), which SillyTavern keeps and ignores.
    Swipes, the scene's definition and the provenance of lines, apart from the model, are lost.

    Args:
        loaded: the scene.
        lines: all lines, or those that one seat witnessed (`as_seen_by`).
        times: the time of each line in ISO 8601 format, by line id; unknown times are missing.
    """
    persons = [seat.id for seat in cast_of(loaded, lines) if is_persons(seat, lines)]
    header = {
        "user_name": name_of(loaded, persons[0]) if persons else _UNUSED,
        "character_name": _UNUSED,
        "create_date": times.get(lines[0]["id"], "") if lines else "",
        "chat_metadata": {"rolellm": {"scene": loaded.scene.id, "title": one_line(loaded.scene.title)}},
    }
    messages = [_message(loaded, line, persons, times.get(line["id"], "")) for line in lines]
    return "".join(
        replace_surrogates(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) + "\n"
        for value in [header, *messages]
    )


def _message(loaded: LoadedScene, line: SceneLine, persons: Sequence[str], time: str) -> dict[str, Any]:
    # Imported here because it loads LangChain's messages, which is slow.
    from rolellm_agents.scene.view import render_own_line

    seat = loaded.seats.get(line["speaker"])
    happens = line["kind"] in ("narrate", "join", "leave")
    extra: dict[str, Any] = {"type": "narrator"} if happens else {}
    if isinstance(line["made_by"].get("model"), str):
        extra["model"] = line["made_by"]["model"]
    extra["rolellm"] = {"seat": line["speaker"], "kind": line["kind"], "audience": list(line["audience"])}
    name = _NARRATOR[loaded.scene.language] if happens or seat is None else name_of(loaded, seat.id)
    message: dict[str, Any] = {
        "name": name,
        "is_user": line["speaker"] in persons and not happens,
        "is_system": False,
        "send_date": time,
        "mes": plain(render_own_line(loaded, line)),
        "extra": extra,
    }
    if seat and seat.id not in persons and not happens:
        message["original_avatar"] = f"{name}.png"
    return message
