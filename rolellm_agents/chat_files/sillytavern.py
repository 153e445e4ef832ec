"""SillyTavern chats: JSON lines, a header and then one object for each message with its swipes.

Fields that we do not use are kept with the message and exported again.
"""

from collections.abc import Mapping, Sequence

from rolellm_agents.chat_files.building import TreeBuilder
from rolellm_agents.chat_files.sillytavern_time import iso_of
from rolellm_agents.chat_files.tree import SpeakerNames, active_path, siblings_of
from rolellm_agents.chat_files.values import Json, text_in, to_json
from rolellm_agents.errors import ChatFileError
from rolellm_agents.models.reasoning import REASONING
from rolellm_agents.persona import id_of
from rolellm_agents.transcript import ConversationRecord, Kind, Message
from rolellm_agents.transcript.message import USER

_KEPT = "sillytavern"
_OURS = {"mes", "swipes", "swipe_id", "swipe_info"}
"""Fields that we convert; all others are kept unchanged."""


def write(record: ConversationRecord, names: SpeakerNames) -> str:
    """Write the active branch with the swipes of its messages."""
    header = {
        "user_name": names.user,
        "character_name": names.persona,
        "create_date": record.created,
        "chat_metadata": {},
        **_mapping(record.extensions.get(_KEPT)),
    }
    siblings = siblings_of(record)
    lines = [
        header,
        *(_message_as_json(message, siblings[message.parent], names) for message in active_path(record)),
    ]
    return "".join(to_json(line) + "\n" for line in lines)


def is_header(value: Json) -> bool:
    """Whether a line is the header of a chat."""
    return (
        isinstance(value, dict)
        and "mes" not in value
        and bool({"chat_metadata", "character_name", "user_name"} & value.keys())
    )


def is_message(value: Json) -> bool:
    """Whether a line is a message of a chat."""
    return isinstance(value, dict) and "mes" in value


def persona_name(lines: Sequence[Json]) -> str:
    """The character's name in the header, which newer versions leave unused, or else in its messages."""
    names = [lines[0].get("character_name")] if is_header(lines[0]) else []
    names += [line.get("name") for line in lines if is_message(line) and _is_by_character(line)]
    return next((name for name in names if isinstance(name, str) and name not in ("", "unused")), "")


def read(lines: Sequence[Json], persona: str) -> ConversationRecord:
    """Read the lines of a chat.

    Raises:
        ChatFileError: a line is not a message.
    """
    header = lines[0] if is_header(lines[0]) else {}
    messages = lines[1:] if header else lines
    name = persona_name(lines)
    speakers = [_speaker_of(line, persona, name) for line in messages if isinstance(line, dict)]
    tree = TreeBuilder(persona, iso_of(header.get("create_date")), speakers)
    for number, line in enumerate(messages, len(lines) - len(messages) + 1):
        if not is_message(line):
            raise ChatFileError(f"Line {number} of the chat is not a message; remove it.")
        _read_message(tree, line, _speaker_of(line, persona, name), f"Line {number}")
    return tree.record(extensions={_KEPT: header} if header else {})


def _read_message(tree: TreeBuilder, line: dict[str, Json], speaker: str, what: str) -> None:
    text = text_in(line, "mes", what)
    extra = _mapping(line.get("extra"))
    kind: Kind = "narrate" if extra.get("type") == "narrator" else "say"
    kept = {"message": {key: value for key, value in line.items() if key not in _OURS}}
    created = iso_of(line.get("send_date"))
    swipes = line.get("swipes")
    if not isinstance(swipes, list) or not all(isinstance(swipe, str) for swipe in swipes):
        tree.add(speaker, text, kind=kind, created=created, made_by={_KEPT: kept})
        return
    chosen = line.get("swipe_id")
    if type(chosen) is not int or not 0 <= chosen < len(swipes) or swipes[chosen] != text:
        # The message was edited after the swipes were generated; both texts are kept.
        chosen = swipes.index(text) if text in swipes else len(swipes)
    texts = [*swipes, text] if chosen == len(swipes) else swipes
    infos = line.get("swipe_info")
    known = infos if isinstance(infos, list) else []
    tree.add_swipes(
        speaker,
        [
            (
                swipe,
                created if place == chosen else iso_of(_mapping(_at(known, place)).get("send_date")),
                {_KEPT: _kept_of_swipe(known, place) | (kept if place == chosen else {})},
            )
            for place, swipe in enumerate(texts)
        ],
        chosen,
        kind=kind,
    )


def _kept_of_swipe(infos: Sequence[Json], place: int) -> dict[str, Json]:
    return {"swiped": True} | ({"info": infos[place]} if place < len(infos) else {})


def _message_as_json(message: Message, swipes: Sequence[Message], names: SpeakerNames) -> dict[str, Json]:
    kept = _mapping(message.made_by.get(_KEPT))
    line: dict[str, Json] = {
        "name": names.of(message.speaker),
        "is_user": message.speaker == USER,
        "is_system": False,
        "send_date": message.created,
        "extra": _extra_of(message),
        **_mapping(kept.get("message")),
        "mes": message.text,
    }
    if len(swipes) > 1 or kept.get("swiped"):
        line["swipes"] = [swipe.text for swipe in swipes]
        line["swipe_id"] = next(place for place, swipe in enumerate(swipes) if swipe.id == message.id)
        infos = [_info_of(swipe) for swipe in swipes]
        if any(info is not None for info in infos):
            line["swipe_info"] = [info if info is not None else {} for info in infos]
    return line


def _info_of(swipe: Message) -> Json:
    """The `swipe_info` of a swipe; None when its file had none."""
    kept = _mapping(swipe.made_by.get(_KEPT))
    if "info" in kept or kept.get("swiped"):
        return kept.get("info")
    return {"send_date": swipe.created, "extra": _extra_of(swipe)}


def _extra_of(message: Message) -> dict[str, Json]:
    extra: dict[str, Json] = {"type": "narrator"} if message.kind == "narrate" else {}
    made_by = message.made_by
    extra |= {"model": made_by["model"]} if "model" in made_by else {}
    # SillyTavern shows it folded above the message.
    return extra | ({"reasoning": made_by[REASONING]} if REASONING in made_by else {})


def _speaker_of(line: dict[str, Json], persona: str, persona_name_: str) -> str:
    if line.get("is_user"):
        return USER
    name = text_in(line, "name", "A message of the chat")
    return persona if name in ("", persona_name_) else id_of(name) or persona


def _is_by_character(line: dict[str, Json]) -> bool:
    is_narration = _mapping(line.get("extra")).get("type") == "narrator"
    return not line.get("is_user") and not line.get("is_system") and not is_narration


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _at(values: Sequence[Json], place: int) -> Json:
    return values[place] if place < len(values) else None
