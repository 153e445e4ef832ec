"""ShareGPT: `{"conversations": [{"from": "human", "value": "…"}, …]}`, one object for each conversation."""

from collections.abc import Mapping

from rolellm_agents.chat_files.building import TreeBuilder
from rolellm_agents.chat_files.tree import active_path
from rolellm_agents.chat_files.values import Json, objects_in, text_in, to_json
from rolellm_agents.errors import ChatFileError
from rolellm_agents.transcript import ConversationRecord, Kind, Message
from rolellm_agents.transcript.message import USER

_KEPT = "sharegpt"
"""The key of provenance and extensions for fields that we only keep for the next export."""
ROLES: Mapping[str, str] = {
    **dict.fromkeys(("human", "user"), "human"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard", "model"), "gpt"),
    "system": "system",
}
"""The role by its names in various programs."""


def write(record: ConversationRecord) -> str:
    """Write the active branch on one line, so that several conversations make a JSONL file."""
    # An imported conversation keeps its own fields; the format itself has none for a name.
    kept = dict(record.extensions.get(_KEPT, {"persona": record.persona}))
    turns = [*kept.pop("leading", []), *(_turn_of(message) for message in active_path(record))]
    return to_json({**kept, "conversations": turns}) + "\n"


def persona_name(document: dict[str, Json]) -> str:
    """The persona's name in the document; empty when it has none."""
    for key in ("persona", "character"):
        if isinstance(document.get(key), str):
            return str(document[key])
    return ""


def read(document: dict[str, Json], persona: str) -> ConversationRecord:
    """Read a document.

    Raises:
        ChatFileError: a turn is invalid.
    """
    kept = {key: value for key, value in document.items() if key != "conversations"}
    tree = TreeBuilder(persona)
    leading: list[dict[str, Json]] = []
    for number, turn in enumerate(objects_in(document, "conversations", "The conversation"), 1):
        what = f"Turn {number}"
        role = ROLES.get(text_in(turn, "from", what).lower())
        if role is None:
            raise ChatFileError(f"{what} is from {turn.get('from')!r}, and not from human, gpt or system.")
        if role == "system" and not tree.messages and turn.get("kind") != "narrate":
            # Instructions to the model are not messages.
            leading.append(turn)
            continue
        kind: Kind = "narrate" if role == "system" else "say"
        rest = {key: value for key, value in turn.items() if key != "value"}
        tree.add(
            USER if role == "human" else persona,
            text_in(turn, "value", what),
            kind=kind,
            made_by={_KEPT: rest},
        )
    if leading:
        kept["leading"] = leading
    return tree.record(extensions={_KEPT: kept})


def _turn_of(message: Message) -> dict[str, Json]:
    kept = message.made_by.get(_KEPT)
    if isinstance(kept, Mapping):
        return {"from": _role_of(message), "value": message.text, **kept}
    turn = {"from": _role_of(message), "value": message.text}
    # Other programs read narration as instructions; the kind tells us that it is narration.
    return turn | ({"kind": message.kind} if message.kind == "narrate" else {})


def _role_of(message: Message) -> str:
    if message.kind == "narrate":
        return "system"
    return "human" if message.speaker == USER else "gpt"
