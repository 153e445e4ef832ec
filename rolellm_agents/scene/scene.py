"""A scene: who is where, what each of them wants, hides and knows; read from one YAML file.

Everything under a seat is that seat's own. What all may know is the setting, the time and what happens.
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
"""The speaker of what nobody in the scene says."""

TurnKind = Literal["say", "act", "whisper", "think"]
"""What somebody in a seat can do; the kinds of the transcript without what only happens."""


class _ScenePart(BaseModel):
    # Files and transcripts keep the keys that version 0.1 wrote.
    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class Seat(_ScenePart):
    """A place in the scene, and who sits in it."""

    persona: Line | None = None
    """An id, a name, or a persona file; None for somebody who is only a person."""
    id: PersonaId = ""
    """What the scene calls the seat; the persona's id when it is not told."""
    name: str = ""
    """What others call them; the persona's name when it is not told."""
    about: str = ""
    """Who they are in this scene, told to them alone."""
    person: StrictBool = False
    """Whether a person sits here from the start."""
    present: StrictBool = True
    """Whether they are there from the start; who is not can come by an event or be let in."""
    goals: tuple[Line, ...] = ()
    secrets: tuple[Line, ...] = ()
    knows: tuple[Line, ...] = ()
    """What they know when they enter."""
    relations: Mapping[PersonaId, Line] = Field(default_factory=dict)
    """How they stand to others, by seat; the others do not read it."""
    talkativeness: float = Field(default=0.5, ge=0, le=1)
    """How readily they speak unasked, as on a SillyTavern card."""
    model: Line | None = None
    """A model spec, with an adapter or without; the scene's when None."""
    strategy: Line | None = None


class OpeningLine(_ScenePart):
    """A line that stands at the beginning."""

    speaker: PersonaId = NARRATOR
    kind: Literal["say", "act", "whisper", "think", "narrate"] = "say"
    to: tuple[PersonaId, ...] = ()
    """Who hears it, for a whisper; all who are there otherwise."""
    text: Line

    @model_validator(mode="before")
    @classmethod
    def _narrated_by_default(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("speaker", NARRATOR) == NARRATOR:
            return {"kind": "narrate", **data}
        return data


class Event(_ScenePart):
    """Something that happens when so many turns are over."""

    after: StrictInt = Field(ge=0)
    """Turns."""
    join: PersonaId | None = None
    leave: PersonaId | None = None
    text: str = ""
    """What those who are there see of it."""

    @model_validator(mode="after")
    def _something_happens(self) -> "Event":
        if self.join and self.leave:
            raise ValueError("one event lets one come or one go; write two")
        if not (self.join or self.leave or self.text.strip()):
            raise ValueError("nothing happens; give it a text, or let somebody join or leave")
        return self


DirectorKind = Literal["round-robin", "natural", "manual", "pooled", "scripted", "bidding", "model"]


def director_kinds() -> list[str]:
    """All kinds of directors: ours, then those of installed packages."""
    return [*get_args(DirectorKind), *plugin_names("rolellm.directors")]


class Director(_ScenePart):
    """Who decides who speaks next."""

    kind: Line = "natural"
    """One of `DirectorKind`, or an entry point of `rolellm.directors`."""
    order: tuple[PersonaId, ...] = ()
    """The speakers in turn, for `scripted`; the scene ends after them."""
    model: Line | None = None
    """What chooses, for `model`; the scene's when None."""

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
    """An agent that answers what is attempted and moves time."""

    about: str = ""
    """What it should bear in mind; nobody in the scene reads it."""
    answers: StrictBool = True
    """Whether it tells how an attempt ends, when somebody acts."""
    every: StrictInt = Field(default=0, ge=0)
    """Turns after which it moves the scene on; 0 is never."""
    model: Line | None = None


class Stop(_ScenePart):
    """When the scene is over."""

    turns: StrictInt = Field(default=24, ge=1, le=100_000)
    said: tuple[Line, ...] = ()
    """Words after which it is over, whoever says them."""
    silent: StrictInt = Field(default=3, ge=1)
    """Turns in a row that say nothing new, after which it is over."""


class Scene(_ScenePart):
    """A scene as its file tells it."""

    id: PersonaId
    title: Line
    language: Language = "en"
    setting: Line
    """Where it is; everybody there knows it."""
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
    """What characters may do; a person in a seat may do all of it."""
    stop: Stop = Stop()
    model: Line | None = None
    """A model spec for all who have none of their own."""
    strategy: Line | None = None
    """How personas reach their models; `system` when None, since a scene's prompts are long as they are."""
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
