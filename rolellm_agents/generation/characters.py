"""The input of Context-Instruct: a persona and the planned requests for questions about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rolellm_agents.errors import ScriptError
from rolellm_agents.generation.passes import Pass, plan_passes
from rolellm_agents.generation.segments import (
    SourceSegment,
    demonstration_segments,
    description_segments,
    knowledge_segments,
    script_segments,
)
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_script.role import names_of
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.scripts.reading import read_script
from rolellm_agents.text.language import is_in_other_language


@dataclass(frozen=True)
class ScriptOf:
    """A script and the names that the character has in it."""

    path: Path
    role: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Character:
    """A persona with its planned requests for questions."""

    persona: Persona
    passes: tuple[Pass, ...]
    foreign: int
    """Number of segments that were left out because they are in another language."""

    @property
    def has_story(self) -> bool:
        """Whether there are segments beside the description."""
        return any(one.kind == "script_based" for one in self.passes)


def read_character(persona: Persona, *, script: ScriptOf | None, most: int) -> Character:
    """Split a persona's profile and script into segments, and plan the requests for questions.

    The persona's macros are filled; without a script, the profile alone is used. `most` is the estimated
    maximum number of tokens of a segment.

    Raises:
        ScriptError: the script cannot be read, is in another language, or the role does not speak in it.
    """
    segments = [*knowledge_segments(persona, most=most), *demonstration_segments(persona, most=most)]
    foreign = 0
    if script is not None:
        of_script = _script_segments(persona, script, most)
        own = [one for one in of_script if not is_in_other_language(one.text, persona.language)]
        foreign = len(of_script) - len(own)
        if not own:
            raise ScriptError(
                f"{script.path} is not in {persona.language!r}, the language of {persona.name}; "
                "give a script in that language."
            )
        segments = _mixed(own, segments)
    themes, unknown = (_themes(name, persona) for name in ("themes-agnostic", "themes-boundary"))
    about = description_segments(persona, most=most)
    return Character(persona, tuple(plan_passes(segments, about, themes, unknown)), foreign)


def _script_segments(persona: Persona, script: ScriptOf, most: int) -> list[SourceSegment]:
    read = read_script(script.path)
    return script_segments(read, names_of(read, script.role, script.aliases), most=most)


def _mixed(script: Sequence[SourceSegment], profile: Sequence[SourceSegment]) -> list[SourceSegment]:
    """The profile's segments spread evenly among the script's."""
    places = [(number / len(script), 0, one) for number, one in enumerate(script)]
    places += [(number / len(profile), 1, one) for number, one in enumerate(profile)]
    return [one for _, _, one in sorted(places, key=lambda place: place[:2])]


def _themes(name: str, persona: Persona) -> list[str]:
    return load_prompt(name, persona.language).fill(name=persona.name).splitlines()
