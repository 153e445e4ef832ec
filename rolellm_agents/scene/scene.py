"""The data of a scene, which is read from one YAML file.

What is written under a seat reaches only the prompt of its own character. All characters read the setting
and the time.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    field_validator,
    model_validator,
)

from rolellm_agents.persona import Line, PersonaId
from rolellm_agents.plugins import plugin_names
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import Language

NARRATOR = "narrator"
"""The speaker of narration."""

TurnKind = Literal["say", "act", "whisper", "think"]
"""The message kinds of a seat's turns; the others are narration, entrances and exits."""


class _ScenePart(BaseModel):
    # Files and transcripts keep the keys that version 0.1 wrote.
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class Seat(_ScenePart):
    """A place in the scene, and the character in it."""

    persona: Line | None = None
    """The id, name or file of a persona; None for a seat that only a person plays."""
    id: PersonaId = ""
    """The seat's id; defaults to the persona's id."""
    name: str = ""
    """The character's name in the scene; defaults to the persona's name."""
    about: str = ""
    """The character's part in this scene; only the character reads it."""
    person: StrictBool = False
    """Whether a person has the seat from the start."""
    present: StrictBool = True
    """Whether the character is present from the start. Others enter by an event or are let in."""
    goals: tuple[Line, ...] = ()
    secrets: tuple[Line, ...] = ()
    knows: tuple[Line, ...] = ()
    """What the character knows on entering."""
    relations: Mapping[PersonaId, Line] = Field(default_factory=dict)
    """The character's relation to others, by seat; the others do not read it."""
    talkativeness: float = Field(default=0.5, ge=0, le=1)
    """Probability of speaking without being addressed, as on a SillyTavern card."""
    model: Line | None = None
    """A model spec; defaults to the scene's."""
    strategy: Line | None = None


class OpeningLine(_ScenePart):
    """A line that opens the scene."""

    speaker: PersonaId = NARRATOR
    kind: Literal["say", "act", "whisper", "think", "narrate"] = "say"
    to: tuple[PersonaId, ...] = ()
    """The addressees of a whisper; all who are present witness other kinds."""
    text: Line

    @model_validator(mode="before")
    @classmethod
    def _narrated_by_default(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("speaker", NARRATOR) == NARRATOR:
            return {"kind": "narrate", **data}
        return data


class Event(_ScenePart):
    """Something that happens after a number of turns."""

    after: StrictInt = Field(ge=0)
    """The number of turns."""
    join: PersonaId | None = None
    leave: PersonaId | None = None
    text: str = ""
    """The text of the line that those present witness."""

    @model_validator(mode="after")
    def _something_happens(self) -> "Event":
        if self.join and self.leave:
            raise ValueError("an event can have one join or one leave; write two events")
        if not (self.join or self.leave or self.text.strip()):
            raise ValueError("the event has no content; give it a text, join or leave")
        return self


DirectorKind = Literal["round-robin", "natural", "manual", "pooled", "scripted", "bidding", "model"]


def director_kinds() -> list[str]:
    """All kinds of directors: the built-in ones, then those of installed packages."""
    return [*get_args(DirectorKind), *plugin_names("rolellm.directors")]


class Director(_ScenePart):
    """How the next speaker is chosen."""

    kind: Line = "natural"
    """One of `DirectorKind`, or an entry point of `rolellm.directors`."""
    order: tuple[PersonaId, ...] = ()
    """The speakers in order, for `scripted`; the scene ends after the last."""
    model: Line | None = None
    """The model spec of the director `model`; defaults to the scene's."""

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, kind: str) -> str:
        if kind not in get_args(DirectorKind) and kind not in plugin_names("rolellm.directors"):
            known = director_kinds()
            raise ValueError(
                f"there is no director {kind!r}{did_you_mean(kind, known)}; known are {', '.join(known)}"
            )
        return kind

    @model_validator(mode="after")
    def _order_when_scripted(self) -> "Director":
        if (self.kind == "scripted") != bool(self.order):
            raise ValueError("an order of speakers belongs to the kind 'scripted', and to it alone")
        return self


class Narrator(_ScenePart):
    """A model that narrates the outcome of acts and the passing of time."""

    about: str = ""
    """Directions for the narrator; no character reads them."""
    answers: StrictBool = True
    """Whether the narrator tells the outcome of each act."""
    every: StrictInt = Field(default=0, ge=0)
    """The narrator moves the scene on after each such number of turns; 0 for never."""
    model: Line | None = None


class Stop(_ScenePart):
    """When the scene ends."""

    turns: StrictInt = Field(default=24, ge=1, le=100_000)
    said: tuple[Line, ...] = ()
    """Words of any speaker that end the scene."""
    silent: StrictInt = Field(default=3, ge=1)
    """The number of consecutive turns without new words that ends the scene."""


class Scene(_ScenePart):
    """A scene as defined by its file."""

    id: PersonaId
    title: Line
    language: Language = "en"
    setting: Line
    """The place; all characters read it."""
    time: str = ""
    tags: tuple[Line, ...] = ()
    cast: tuple[Seat, ...] = Field(min_length=1, max_length=64)
    opening: tuple[OpeningLine, ...] = ()
    events: tuple[Event, ...] = ()
    director: Director = Director()
    narrator: Narrator | None = None
    turn_kinds: tuple[TurnKind, ...] = Field(
        default=("say", "act"),
        validation_alias=AliasChoices("turn_kinds", "manners"),
        serialization_alias="manners",
    )
    """The turn kinds that characters may use; a person may use all."""
    stop: Stop = Stop()
    model: Line | None = None
    """The model spec of seats without their own."""
    strategy: Line | None = None
    """The prompting strategy; defaults to `system`, since a scene's prompts are long already."""
    seed: StrictInt | None = None

    @field_validator("director", mode="before")
    @classmethod
    def _director_by_name(cls, given: Any) -> Any:
        return {"kind": given} if isinstance(given, str) else given

    @field_validator("cast", mode="before")
    @classmethod
    def _seats_by_name(cls, given: Any) -> Any:
        if not isinstance(given, list):
            return given
        return [{"persona": seat} if isinstance(seat, str) else seat for seat in given]
