"""A scene as a group chat of SillyTavern: JSON lines, the first for the chat, then one for each line."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rolellm_agents.scene.export.people import cast_of, is_persons, name_of
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.text import one_line, plain, whole
from rolellm_agents.text.language import Language

_NARRATOR: dict[Language, str] = {"en": "Narrator", "zh": "旁白"}
_UNUSED = "unused"
"""What newer versions write for names that a chat does not need."""


def write_sillytavern_group(
    loaded: LoadedScene, lines: Sequence[SceneLine], times: Mapping[str, str] = MappingProxyType({})
) -> str:
    """A group chat's file.

    A person's seat becomes the user, whoever else speaks a member whose card is called like the seat. There
    every member sees every message: a whisper, a thought or an act is one only by how its words begin, and
    by `extra.rolellm` (`seat`, `kind`, `audience`), which the program keeps and does not use. Swipes, the
    scene's definition and what made a line, but for its model, are lost.

    Args:
        loaded: the scene.
        lines: what happened, or what one seat witnessed of it (`as_seen_by`).
        times: when each was said, in ISO 8601, by the lines' ids; empty where it is not known.
    """
    persons = [seat.id for seat in cast_of(loaded, lines) if is_persons(seat, lines)]
    header = {
        "user_name": name_of(loaded, persons[0]) if persons else _UNUSED,
        "character_name": _UNUSED,
        "create_date": times.get(lines[0]["id"], "") if lines else "",
        "chat_metadata": {"rolellm": {"scene": loaded.scene.id, "title": one_line(loaded.scene.title)}},
    }
    messages = [_message(loaded, line, persons, times.get(line["id"], "")) for line in lines]
    return "".join(_as_json(one) + "\n" for one in [header, *messages])


def _message(loaded: LoadedScene, line: SceneLine, persons: Sequence[str], time: str) -> dict[str, Any]:
    # It brings in LangChain's messages, and they take a moment to load.
    from rolellm_agents.scene.view import own_line

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
        "mes": plain(own_line(loaded, line)),
        "extra": extra,
    }
    if seat and seat.id not in persons and not happens:
        message["original_avatar"] = f"{name}.png"
    return message


def _as_json(value: dict[str, Any]) -> str:
    return whole(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
