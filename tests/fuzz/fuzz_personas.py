"""Read an input as a persona's file, and use the persona: prompts, lore, cards, the linter and YAML.

    python tests/fuzz/fuzz_personas.py -max_total_time=3600 CORPUS

Only errors for the user may come out.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.harness import fuzz, instrumented

with instrumented("rolellm_agents.persona", "rolellm_agents.files", "rolellm_agents.recall"):
    from helpers.cards import book, entry, png, v3
    from helpers.user_files import ADA

    from rolellm_agents.cards import read_cards
    from rolellm_agents.errors import RoleLLMError
    from rolellm_agents.persona import FoundPersona, Persona, read_persona
    from rolellm_agents.persona.from_card.conversion import greetings_of, with_macros
    from rolellm_agents.persona.from_card.files import export_persona
    from rolellm_agents.persona.lint.parts import check_parts
    from rolellm_agents.persona.version import persona_version
    from rolellm_agents.persona.yaml import to_readable_yaml
    from rolellm_agents.prompting.composer import Prompting
    from rolellm_agents.recall import LoreRecall

_FOLDER = tempfile.TemporaryDirectory(prefix="rolellm-fuzz-")
_FILE = Path(_FOLDER.name) / "ada.yaml"
(_FILE.parent / "ada.png").write_bytes(png())
_EXTENSIONS = json.dumps({"card": {"document": v3(nickname="A."), "files": ["a.png", "../b"]}})
_FULL = f"""\
# A persona with everything.
{ADA}language: en
source: {{work: "Notes", year: 1843}}
category: thinker
moment: the night before
catchphrases: [I told you so., "It's \\u2764 true."]
demonstrations:
  - user: Who are {{{{char}}}}?
    reply: >-
      I keep
      the lamp.
    place: act 1
knowledge:
  - {{title: The storm, text: "I lost two pilots."}}
portrait: ada.png
"""


def seeds() -> dict[str, bytes]:
    """Personas with few and with all fields, also as they come from cards."""
    lore = json.dumps(
        book(entry(keys=["lamp", "/la(m+)p/i"]), entry(content="@@depth 2\nOil.", constant=True))
    )
    return {
        "small": ADA.encode(),
        "full": _FULL.encode(),
        "card": f"{ADA}lorebook: {lore}\nextensions: {_EXTENSIONS}\n".encode(),
        "json": json.dumps(
            {"id": "ada", "name": "Ada", "description": "x", "greeting": "{{user}}"}
        ).encode(),
    }


def one_input(content: bytes) -> None:
    """Read the persona, and do what follows."""
    _FILE.write_bytes(content)
    try:
        persona = read_persona(_FILE)
    except RoleLLMError:
        return
    _use(with_macros(persona, "{{char}}"))
    try:
        to_readable_yaml(persona, _FILE)
        for format_ in ("charx", "json"):
            out = _FILE.with_name(f"out.{format_}")
            export_persona(FoundPersona(persona, _FILE, "path"), format_, "v3", out)
            read_cards(out)
    except RoleLLMError:
        return


def _use(persona: Persona) -> None:
    persona_version(persona)
    greetings_of(persona)
    list(check_parts(persona))
    try:
        LoreRecall(persona, user="Tom").activate([], "Who lit the lamp?", {})
        Prompting(persona, "few-shot-dialogue", user="Tom").look_up([], "Who lit the lamp?", {})
    except RoleLLMError:
        return


if __name__ == "__main__":
    fuzz(one_input)
