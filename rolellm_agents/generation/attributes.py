"""Attributes of whoever asks a character, drawn for each request, so that generated questions differ.

Models that are asked for many questions repeat themselves; conditions that are drawn at random keep them
apart (Persona Hub, arXiv 2406.20094; attributed prompts, arXiv 2306.15895).
"""

import random
from collections.abc import Iterable, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Final

from pydantic import ConfigDict, Field, RootModel

from rolellm_agents.errors import SettingsError
from rolellm_agents.files.yaml import read_yaml
from rolellm_agents.persona import Line, Persona
from rolellm_agents.runs.seeds import seed_of
from rolellm_agents.text.language import Language

BUNDLED: Final = "bundled"
"""Names the attributes that come with the program."""

Drawn = Mapping[str, str]
"""One value of each attribute."""


class Attributes(
    RootModel[Mapping[Language, Mapping[Line, Annotated[tuple[Line, ...], Field(min_length=1)]]]]
):
    """The values of each attribute, by language."""

    model_config = ConfigDict(frozen=True)

    def draw(self, language: Language, key: str, *, seed: int) -> Drawn:
        """One value of each attribute of a language; the same for the same key and seed."""
        rng = random.Random(seed_of(seed, f"{key}/attributes"))  # noqa: S311  # no secret
        return {name: rng.choice(values) for name, values in self.root.get(language, {}).items()}


def load_attributes(name: str) -> Attributes:
    """Load attributes from a YAML file, or the bundled ones.

    Raises:
        SettingsError: there is no such file, or it is invalid; the message names the line.
    """
    if name != BUNDLED:
        return read_yaml(Path(name).expanduser(), Attributes, SettingsError)
    with as_file(files("rolellm_agents.generation") / "data" / "attributes.yaml") as file:
        return read_yaml(file, Attributes, SettingsError)


def check_languages(attributes: Attributes, personas: Iterable[Persona], name: str) -> None:
    """Check that there are attributes in the languages of all personas.

    Raises:
        SettingsError: a persona's language has none.
    """
    for persona in personas:
        if not attributes.root.get(persona.language):
            raise SettingsError(
                f"{name} has no attributes for the language {persona.language} of {persona.name}; add them "
                f"under “{persona.language}:”."
            )


def shown(drawn: Drawn) -> str:
    """Drawn attributes as one line for a prompt."""
    return "; ".join(f"{name}: {value}" for name, value in drawn.items())
