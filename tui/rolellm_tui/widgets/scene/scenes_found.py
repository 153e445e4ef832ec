"""The scenes that can be played, with what a list of them tells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rolellm_agents.cards.values import mapping, text
from rolellm_agents.chat_files.scenes import SCENE
from rolellm_agents.persona import list_personas
from rolellm_agents.scene import NARRATOR, Scene, Seat, list_scenes
from rolellm_agents.scene.loading import FoundScene
from rolellm_agents.transcript import ConversationSummary, Transcript


@dataclass(frozen=True)
class OfferedScene:
    """One that can be played."""

    found: FoundScene
    names: Sequence[str]
    """Of the cast, in its order."""
    begun: ConversationSummary | None
    """Where it was played last, if it was."""

    @property
    def scene(self) -> Scene:
        """As its file tells it."""
        return self.found.scene


def offered_scenes(transcript: Transcript) -> tuple[list[OfferedScene], list[str]]:
    """All scenes that can be named by id, and a sentence for each file that cannot be used.

    Raises:
        StorageError: the transcript cannot be read.
    """
    found, notes = list_scenes()
    names = {one.persona.id: one.persona.name for one in list_personas().found}
    begun: dict[str, ConversationSummary] = {}
    for one in transcript.conversations():
        begun.setdefault(one.persona, one)
    offered = [
        OfferedScene(
            one,
            [_name(seat, names) for seat in one.scene.cast],
            begun.get(f"{SCENE}{one.scene.id}"),
        )
        for one in found
    ]
    return offered, notes


def names_in_scene(transcript: Transcript, conversation: str) -> dict[str, str]:
    """What the seats of a conversation that is a scene are called; nothing for others.

    Raises:
        StorageError: the transcript cannot be read.
    """
    kept = mapping(transcript.extensions(conversation).get("scene"))
    seats = [mapping(seat) for seat in kept.get("cast", ())]
    names = {text(seat.get("id")): text(seat.get("name")) for seat in seats}
    return {**names, NARRATOR: "Narrator"} if names else {}


def _name(seat: Seat, names: Mapping[str, str]) -> str:
    """What a seat is called, before anybody's file was read for it."""
    persona = seat.persona or seat.id
    return seat.name or names.get(persona) or persona.replace("-", " ").title()
