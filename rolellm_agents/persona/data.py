"""A persona: a character's data, as it stands in one YAML file.

The fields follow RoleLLM's role profiles (arXiv 2310.00746, §3.1): a description, catchphrases and
dialogues, here with what the character knows beside them.
"""

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
    """The work a character comes from, or is portrayed in."""

    work: Line
    year: StrictInt
    """Of the work; negative before the common era."""


class Demonstration(_PersonaPart):
    """One user line and the character's answer."""

    user: Line
    reply: Line
    place: str = ""
    """Where it stands in the source, when it was taken from one."""


class Knowledge(_PersonaPart):
    """Something the character knows or lived through, told in the first person."""

    title: Line
    text: Line
    place: str = ""
    """Where it stands in the source, when it was taken from one."""


class Persona(_PersonaPart):
    """A character's data. Nothing in it depends on a model or a strategy."""

    id: PersonaId
    name: Line
    language: Language = "en"
    source: Source | None = None
    category: str = ""
    tags: tuple[Line, ...] = ()
    description: Line
    """Who they are, in the third person, addressed to the model that plays them."""
    catchphrases: tuple[Line, ...] = ()
    greeting: str = ""
    """What the character says first, when a conversation opens."""
    demonstrations: tuple[Demonstration, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    lorebook: Mapping[str, JsonValue] | None = None
    """A character book as its card brought it."""
    portrait: str | None = None
    """A picture's path, relative to the persona's file."""
    extensions: Mapping[str, JsonValue] = Field(default_factory=dict)
    """What a card brought and we do not use, kept whole."""


def id_of(name: str) -> str:
    """A name as an id: its Latin letters and digits in lower case, Chinese as pinyin, with hyphens.

    A name without any becomes its characters' numbers, which is unique if not pretty.
    """
    if re.search(r"[\u3400-\u9fff]", name):
        # Its dictionary takes a moment to load.
        from pypinyin import lazy_pinyin

        name = " ".join(lazy_pinyin(name))
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain.replace("'", ""))
    return "-".join(words)[:80].strip("-") or "-".join(f"{ord(character):x}" for character in name.strip())[
        :80
    ].strip("-")
