"""The data of a persona, which is read from one YAML file.

The fields follow RoleLLM's role profiles (arXiv 2310.00746, §3.1): a description, catchphrases and
dialogues; in addition, knowledge.
"""

import operator
import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, StringConstraints

from rolellm_agents.text.language import Language

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200_000)]
PersonaId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]


class _PersonaPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_PersonaPart):
    """The work that a character comes from."""

    work: Line
    year: StrictInt
    """The year of the work; negative before the common era."""


class Demonstration(_PersonaPart):
    """One user line and the character's answer."""

    user: Line
    reply: Line
    place: str = ""
    """The place in the source, if it was taken from one."""


class Knowledge(_PersonaPart):
    """Something that the character knows or experienced, in the first person."""

    title: Line
    text: Line
    place: str = ""
    """The place in the source, if it was taken from one."""


class Persona(_PersonaPart):
    """A character's data; independent of models and strategies."""

    id: PersonaId
    name: Line
    language: Language = "en"
    source: Source | None = None
    category: str = ""
    tags: tuple[Line, ...] = ()
    description: Line
    """Who the character is, in the third person, for the model that plays it."""
    # Left out of data when empty, so that digests of personas without it are those of earlier versions.
    moment: str = Field(default="", max_length=2_000, exclude_if=operator.not_)
    """The moment of the story at which the character speaks; it knows nothing of what comes later."""
    catchphrases: tuple[Line, ...] = ()
    greeting: str = ""
    """The character's first message of a conversation."""
    demonstrations: tuple[Demonstration, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    lorebook: Mapping[str, JsonValue] | None = None
    """The character book of a card, unchanged."""
    portrait: str | None = None
    """The path of a picture, relative to the persona's file."""
    extensions: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Data of a card that we keep unchanged and do not use."""


def id_of(name: str) -> str:
    """Derive an id from a name: Latin letters and digits in lower case, Chinese as pinyin, with hyphens.

    The id of a name without any of them consists of the code points of its characters.
    """
    if re.search(r"[\u3400-\u9fff]", name):
        # Imported here because its dictionary loads slowly.
        from pypinyin import lazy_pinyin

        name = " ".join(lazy_pinyin(name))
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain.replace("'", ""))
    return "-".join(words)[:80].strip("-") or "-".join(f"{ord(character):x}" for character in name.strip())[
        :80
    ].strip("-")
