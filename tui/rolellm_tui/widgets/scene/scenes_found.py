"""The scenes that can be played, with the data that the list shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rolellm_agents.cards.values import items, mapping, text
from rolellm_agents.chat_files.scenes import SCENE
from rolellm_agents.persona import list_personas
from rolellm_agents.scene import NARRATOR, Scene, Seat, list_scenes
from rolellm_agents.scene.loading import FoundScene
from rolellm_agents.transcript import ConversationSummary, Transcript


@dataclass(frozen=True)
class OfferedScene:
    """A scene that can be played."""

    found: FoundScene
    names: Sequence[str]
    """Names of the cast, in order."""
    begun: ConversationSummary | None
    """Its latest conversation, if any."""

    @property
    def scene(self) -> Scene:
        """The scene as its file defines it."""
        return self.found.scene


def offered_scenes(transcript: Transcript) -> tuple[list[OfferedScene], list[str]]:
    """All scenes, and a note for each invalid file.

    Raises:
        StorageError: the transcript cannot be read.
    """
    found, notes = list_scenes()
    names = {entry.persona.id: entry.persona.name for entry in list_personas().found}
    latest: dict[str, ConversationSummary] = {}
    for entry in transcript.conversations():
        latest.setdefault(entry.persona, entry)
    offered = [
        OfferedScene(
            entry,
            [_name(seat, names) for seat in entry.scene.cast],
            latest.get(f"{SCENE}{entry.scene.id}"),
        )
        for entry in found
    ]
    return offered, notes


def names_in_scene(transcript: Transcript, conversation: str) -> dict[str, str]:
    """Seat names of a conversation; empty unless it is a scene.

    Raises:
        StorageError: the transcript cannot be read.
    """
    record = mapping(transcript.extensions(conversation).get("scene"))
    seats = [mapping(seat) for seat in items(record.get("cast"))]
    names = {text(seat.get("id")): text(seat.get("name")) for seat in seats}
    return {**names, NARRATOR: "Narrator"} if names else {}


def _name(seat: Seat, names: Mapping[str, str]) -> str:
    """The name of a seat without loading personas."""
    persona = seat.persona or seat.id
    return seat.name or names.get(persona) or persona.replace("-", " ").title()
