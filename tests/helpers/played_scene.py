"""A small scene without models, and what happens in it, for tests of what is done with scenes."""

from collections.abc import Sequence
from typing import Any

from rolellm_agents.scene import LoadedScene, Scene, SceneLine, cast_scene
from rolellm_agents.scene.events import ScheduledEvent, event_line
from rolellm_agents.transcript import Transcript

SECRETS = ("The letter is forged.", "He owes the baker.", "She never liked tea.", "Play for time.")
"""What the cast keeps to itself."""


def tea_party(language: str = "en", **changes: Any) -> LoadedScene:
    """Three at a table, of whom one is a person; a fourth comes later."""
    zh = language == "zh"
    names = ("李白", "张飞", "孙悟空", "店家") if zh else ("Ada Byron", "The Baker", "Dr. Cole", "Dora")
    ids = ("ada", "baker", "cole", "dora")
    cast: list[dict[str, Any]] = [
        {"id": id_, "name": name, "secrets": [secret], "about": "Told to nobody."}
        for id_, name, secret in zip(ids, names, SECRETS, strict=True)
    ]
    cast[1] |= {"person": True}
    cast[2] |= {"goals": ["Leave with the letter."], "relations": {"ada": "A rival."}}
    cast[3] |= {"present": False}
    told = {
        "id": "tea",
        "title": "一壶茶" if zh else "Tea & <Letters>",
        "language": language,
        "setting": "茶馆里。" if zh else "A kitchen in Bath.",
        "time": "黄昏。" if zh else "Five o'clock.",
        "cast": cast,
        "events": [{"after": 99, "text": "The clock strikes."}],
    }
    return cast_scene(Scene.model_validate(told | changes))


def play(loaded: LoadedScene, *said: tuple[str, ...]) -> list[SceneLine]:
    """Lines, each told as speaker, kind, text, and those whom a whisper is for."""
    lines: list[SceneLine] = []
    for speaker, kind, text, *to in said:
        happening = ScheduledEvent(speaker, kind, tuple(to), text, {})
        lines.append(event_line(loaded, lines, happening))
    return lines


def keep(transcript: Transcript, loaded: LoadedScene, lines: Sequence[SceneLine]) -> str:
    """Put a scene into a transcript as a stage does; returns the conversation's id."""
    scene = loaded.scene
    kept = {"scene": scene.model_dump(mode="json", exclude_defaults=True), "seed": 7}
    conversation = transcript.create_conversation(f"scene:{scene.id}", kept)
    transcript.rename(conversation, scene.title)
    parent = None
    for line in lines:
        message = transcript.append(
            conversation,
            parent,
            speaker=line["speaker"],
            audience=line["audience"],
            kind=line["kind"],
            text=line["text"],
            made_by=line["made_by"] or None,
        )
        parent = message.id
    return conversation
