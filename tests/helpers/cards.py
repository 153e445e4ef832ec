"""Cards made for tests."""

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

from rolellm_agents.cards.png import plain_picture, with_texts

SHARED = Path(__file__).parents[3] / "shared" / "data" / "cards"


def data(**fields: Any) -> dict[str, Any]:
    """The fields of a V2 card that has all it must have."""
    return {
        "name": "Ada",
        "description": "{{char}} keeps the lamp.",
        "personality": "Dry.",
        "scenario": "A lighthouse.",
        "first_mes": "Wipe your feet, {{user}}.",
        "mes_example": "<START>\n{{user}}: Who are you?\n{{char}}: I keep the lamp.\nAlone.",
        "creator_notes": "For tests.",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": ["Again, {{user}}?", "Come in, then."],
        "tags": ["sea"],
        "creator": "nobody",
        "character_version": "1",
        "extensions": {"somebody/voice": {"pitch": 1.5}},
        **fields,
    }


def v2(**fields: Any) -> dict[str, Any]:
    """A V2 card's JSON."""
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data(**fields)}


def v3(**fields: Any) -> dict[str, Any]:
    """A V3 card's JSON."""
    return {
        "spec": "chara_card_v3",
        "spec_version": "3.0",
        "data": data(**{"group_only_greetings": [], **fields}),
    }


def entry(**fields: Any) -> dict[str, Any]:
    """A lore entry that has all it must have."""
    return {
        "keys": ["lamp"],
        "content": "The lamp burns herring oil.",
        "extensions": {},
        "enabled": True,
        "insertion_order": 10,
        **fields,
    }


def book(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A lorebook of a card."""
    return {"name": "The rock", "extensions": {}, "entries": list(entries), **fields}


def based(document: Any) -> bytes:
    """A card's JSON as PNG texts hold it."""
    return base64.b64encode(json.dumps(document).encode())


def png(*texts: tuple[str, bytes]) -> bytes:
    """A small picture with texts."""
    return with_texts(plain_picture(90, 40, 40, 4, 6), lambda _: False, texts, "test.png")


def pixels(content: bytes) -> list[bytes]:
    """The chunks of a PNG that are no texts, as they stand in the file."""
    chunks, at = [], 8
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at : at + 8])
        if kind not in (b"tEXt", b"zTXt", b"iTXt"):
            chunks.append(content[at : at + 12 + length])
        at += 12 + length
    return chunks


def compressed_text(keyword: bytes, value: bytes) -> bytes:
    """A zTXt chunk."""
    return chunk(b"zTXt", keyword + b"\0\0" + zlib.compress(value))


def chunk(kind: bytes, content: bytes) -> bytes:
    """A PNG chunk."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
