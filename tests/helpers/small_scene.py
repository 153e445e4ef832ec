"""A scene file in which everything happens that can, and soon."""

import json
from pathlib import Path
from typing import Any

SEATS = ("ada", "ben", "cy")
NAMES = ("Ada", "Ben", "Cy")
PRIVATE: dict[str, Any] = {
    "about": "You sell pears that are not yours.",
    "goals": ["Sell the last pear."],
    "secrets": ["The scales are false."],
    "knows": ["The mayor is in town."],
    "relations": {"ben": "You owe him a goat."},
}
"""What Ada keeps to herself."""

_MARKET: dict[str, Any] = {
    "id": "market",
    "title": "Market day",
    "setting": "A market square at noon.",
    "cast": [
        {"id": "ada", "name": "Ada", **PRIVATE},
        {"id": "ben", "name": "Ben", "about": "You guard the square."},
        {"id": "cy", "name": "Cy", "about": "You are late.", "present": False},
    ],
    "opening": [
        {"text": "The bells have just stopped."},
        {"speaker": "ada", "text": "Pears!"},
        {"speaker": "ben", "kind": "whisper", "to": ["ada"], "text": "Not so loud."},
    ],
    "events": [
        {"after": 1, "join": "cy"},
        {"after": 3, "text": "It begins to rain."},
        {"after": 5, "leave": "ben"},
    ],
    "narrator": {"every": 3},
    "manners": ["say", "act", "whisper", "think"],
    "stop": {"turns": 8},
}


def small_scene(folder: Path, **changes: Any) -> Path:
    """Write it, with other keys."""
    path = folder / f"{changes.get('id', 'market')}.yaml"
    # JSON is YAML.
    path.write_text(json.dumps({**_MARKET, **changes}, indent=2), encoding="utf-8")
    return path
