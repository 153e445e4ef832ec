"""The arguments and results of the tools."""

from pydantic import BaseModel, ConfigDict, Field

from rolellm_graphs.server.wire import SceneMessage


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ListArguments(_Arguments):
    """Arguments of `list_characters` and `list_scenes`."""

    search: str = Field(default="", description="Only entries whose name or description contains this.")


class TalkArguments(_Arguments):
    """Arguments of `talk_with`."""

    character: str = Field(description="The character's id, as list_characters shows it.")
    message: str = Field(min_length=1, description="What is said to the character.")
    conversation: str | None = Field(
        default=None, description="The id of a conversation to continue; leave it out to begin a new one."
    )


class PlayArguments(_Arguments):
    """Arguments of `play_scene`."""

    scene: str = Field(description="The scene's id, as list_scenes shows it.")
    seat: str | None = Field(
        default=None,
        description="The seat to take. Default: the scene's first for a person; without one, you watch.",
    )


class TurnArguments(_Arguments):
    """Arguments of `scene_turn`."""

    conversation: str = Field(description="The id that play_scene returned.")
    line: str | None = Field(
        default=None,
        min_length=1,
        description="What your seat says. Leave it out to let the others go on.",
    )


class Entry(BaseModel):
    """A character or a scene in a list."""

    id: str
    name: str
    about: str


class Entries(BaseModel):
    """Result of `list_characters` and `list_scenes`."""

    entries: list[Entry]


class Talked(BaseModel):
    """Result of `talk_with`."""

    answer: str
    conversation: str = Field(description="Pass it as `conversation` to go on.")


class ScenePlayed(BaseModel):
    """Result of `play_scene` and `scene_turn`: what your seat has witnessed."""

    lines: list[SceneMessage]
    seat: str
    conversation: str = Field(description="Pass it to scene_turn to go on.")
    ended: str = Field(description="Why the scene is over; empty while it continues.")
