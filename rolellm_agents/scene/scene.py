"""The data of a scene, which is read from one YAML file.

What is written under a seat reaches only the prompt of its own character. All characters read the setting
and the time.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.persona import Line, PersonaId
from rolellm_agents.plugins import plugin_names
from rolellm_agents.scene.message_kinds import (
    ACT,
    BUILT_IN,
    JOIN,
    LEAVE,
    SAY,
    MessageKind,
    turn_kind_named,
)
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import Language
from rolellm_agents.transcript.message import Kind

NARRATOR = "narrator"
"""The speaker of narration."""


def _turn_kind(given: Any, info: ValidationInfo) -> Any:
    """The turn kind of a name; pydantic shows a `ValueError` with its place in the file.

    The context of the validation can have kinds that no package provides, as a sequence `turn_kinds`.
    """
    own = (info.context or {}).get("turn_kinds", ())
    if isinstance(given, str):
        try:
            return next((kind for kind in own if kind.name == given), None) or turn_kind_named(given)
        except RoleLLMError as error:
            told = str(error).rstrip(".")
            raise ValueError(told[:1].lower() + told[1:]) from error
    if isinstance(given, MessageKind) and given != BUILT_IN.get(given.name, given):
        raise ValueError(f"{given.name!r} is a message kind of ours; choose another name")
    return given


TurnKind = Annotated[
    InstanceOf[MessageKind],
    BeforeValidator(_turn_kind),
    PlainSerializer(lambda kind: kind.name, return_type=str),
]
"""The message kind of a seat's turns, which a file names; narration, entrances and exits are no turns."""


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
    kind: Line = "say"
    """`say`, `act`, `whisper`, `think`, `narrate`, or one of the scene's own turn kinds."""
    to: tuple[PersonaId, ...] = ()
    """The addressees, of a whisper and of other kinds that only they perceive."""
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
    """The conditions that end the scene."""

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
        default=(SAY, ACT),
        validation_alias=AliasChoices("turn_kinds", "manners"),
        serialization_alias="manners",
    )
    """The turn kinds that characters may use. A person may use all of ours, and those of the scene."""
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

    @field_validator("turn_kinds")
    @classmethod
    def _one_kind_of_each_name(cls, kinds: tuple[MessageKind, ...]) -> tuple[MessageKind, ...]:
        by_name: dict[str, MessageKind] = {}
        for kind in kinds:
            if by_name.setdefault(kind.name, kind) != kind:
                raise ValueError(f"two turn kinds have the name {kind.name!r}; rename one")
        return kinds

    @model_validator(mode="after")
    def _opening_kinds_are_known(self) -> "Scene":
        known = [name for name in self.message_kinds if name not in (JOIN.name, LEAVE.name)]
        for number, line in enumerate(self.opening):
            if line.kind not in known:
                meant = did_you_mean(line.kind, known)
                raise ValueError(
                    f"opening[{number}].kind: there is no kind {line.kind!r}{meant}; known are "
                    f"{', '.join(known)}"
                )
        return self

    @property
    def message_kinds(self) -> dict[Kind, MessageKind]:
        """The kinds that lines of this scene can have, by name: ours, and the scene's own turn kinds."""
        return {**BUILT_IN, **{kind.name: kind for kind in self.turn_kinds}}
