"""Put a persona together from what was found, and write it as YAML."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import yaml

from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.profile.facts import describe, find_greeting, own_words
from rolellm_agents.profile.habits import find_habits
from rolellm_agents.profile.pairs import choose_pairs, find_pairs
from rolellm_agents.scripts.script import Script

_KNOWLEDGE = 8


def draft_persona(script: Script, names: Sequence[str], role: str, *, demonstrations: int) -> Persona:
    """A persona from a script without any model: its lines, its habits, its longest words.

    Args:
        script: what was read.
        names: how the script calls the role.
        role: the name that the persona gets.
        demonstrations: how many to choose, at most.
    """
    own = [passage.speech for passage in script.passages if passage.speaker in names]
    others = [
        passage.speech for passage in script.passages if passage.speaker and passage.speaker not in names
    ]
    habits = find_habits(own, others, script.language, names=script.speakers())
    pairs = choose_pairs(find_pairs(script, names), script.language, demonstrations, habits)
    return Persona(
        id=id_of(role),
        name=role,
        language=script.language,
        description=describe(script, names, role, habits),
        catchphrases=tuple(habits),
        demonstrations=tuple(
            Demonstration(user=pair.user, reply=pair.reply, place=pair.place) for pair in pairs
        ),
        knowledge=tuple(own_words(script, names, _KNOWLEDGE, besides={pair.place for pair in pairs})),
        greeting=find_greeting(script, names),
        tags=(script.kind,),
    )


def with_notes(persona: Persona, description: str, knowledge: Sequence[Knowledge]) -> Persona:
    """The draft with what a model wrote: its description before the facts, its knowledge before lines."""
    joint = "" if persona.language == "zh" else " "
    return persona.model_copy(
        update={
            "description": f"{description}{joint}{persona.description}".strip(),
            "knowledge": (*knowledge, *persona.knowledge)[: max(_KNOWLEDGE, len(knowledge))],
        }
    )


def id_of(name: str) -> str:
    """A name as an id: its Latin letters and digits in lower case, with hyphens.

    A name without any becomes its characters' numbers, which is unique if not pretty.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain.replace("'", ""))
    return "-".join(words)[:80] or "-".join(f"{ord(character):x}" for character in name.strip())[:80]


def to_yaml(persona: Persona) -> str:
    """The persona as a file that a person can edit: long texts folded, empty parts left out."""
    data = {
        key: value
        for key, value in persona.model_dump(mode="json").items()
        if value not in (None, "", [], {})
    }
    return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=97)


class _Dumper(yaml.SafeDumper):
    """Long texts as folded blocks, lists indented, no marks of the library's own."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_long = len(text) > 70 and text == text.strip() and "\n" not in text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=">" if is_long else None)


_Dumper.add_representer(str, _text)
