"""Convert conversations and played scenes to the input of judges."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

from rolellm_agents.errors import PersonaError
from rolellm_agents.judging.flaws import JudgedScene, JudgedSceneLine
from rolellm_agents.judging.judged import ConversationTurn, Judged
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.scene import LoadedScene, SceneLine
from rolellm_agents.scene.scene import NARRATOR, Seat
from rolellm_agents.scene.view import render_line
from rolellm_agents.transcript import Kind, Message
from rolellm_agents.transcript.message import USER

_HAPPENS: Final[tuple[Kind, ...]] = ("narrate", "join", "leave")


def judged_of_chat(persona: Persona, path: Sequence[Message], *, user: str, prefix: str) -> list[Judged]:
    """Each answer of a persona in a conversation with one person, with the turns before it.

    The persona's opening message answers nothing, so it is not judged; later answers include it in their
    turns.

    The user's name fills the macros of a card. `prefix` begins each key; the number of the answer among the
    messages follows.
    """
    filled = with_macros(persona, user)
    turns: list[ConversationTurn] = []
    found: list[Judged] = []
    for number, message in enumerate(path, 1):
        if message.kind in _HAPPENS:
            continue
        if message.speaker != USER and turns and turns[-1].speaker == "user":
            found.append(
                Judged(key=f"{prefix}/{number}", persona=filled, turns=tuple(turns), reply=message.text)
            )
        turns.append(ConversationTurn("user" if message.speaker == USER else "persona", message.text))
    return found


def scene_of_chat(persona: Persona, path: Sequence[Message], *, user: str, key: str) -> JudgedScene:
    """Convert a conversation between a persona and a person to a scene."""
    filled = with_macros(persona, user)
    names = {USER: user}
    return JudgedScene(
        key=key,
        title=f"{filled.name} – {user}",
        setting="",
        language=filled.language,
        people={filled.name: filled.description},
        lines=tuple(
            JudgedSceneLine("" if one.kind in _HAPPENS else names.get(one.speaker, filled.name), one.text)
            for one in path
        ),
    )


def played_scene(loaded: LoadedScene, lines: Sequence[SceneLine], key: str) -> JudgedScene:
    """Convert a played scene to the input of a scene judge.

    Characters whose persona can be found are given with their description.

    The scene's personas need not be loaded; the lines are without the setting. The key is the scene's in
    the run.
    """
    scene = loaded.scene
    return JudgedScene(
        key=key,
        title=scene.title,
        setting=" ".join(filter(None, (scene.setting, scene.time))),
        language=scene.language,
        people={seat.name: _about(seat, loaded.personas) for seat in scene.cast},
        lines=tuple(_turn(loaded, line) for line in lines),
    )


def _turn(loaded: LoadedScene, line: SceneLine) -> JudgedSceneLine:
    if line["speaker"] == NARRATOR or line["kind"] in _HAPPENS:
        return JudgedSceneLine("", line["text"])
    name = loaded.names.get(line["speaker"], line["speaker"])
    # The judge must see the message kind: the others cannot answer a whisper that they did not hear.
    text = render_line(loaded, line)
    return JudgedSceneLine(name, text.removeprefix(f"{name}: ").removeprefix(f"{name}："))


def _about(seat: Seat, personas: Mapping[str, Persona]) -> str:
    """A character's description, goals, secrets and knowledge; a critic may know all of them."""
    persona = personas.get(seat.id)
    if persona is None and seat.persona:
        # The scene can still be judged when a persona of its cast was removed since.
        with contextlib.suppress(PersonaError):
            persona = load_persona(seat.persona)
    parts = (persona.description if persona else "", seat.about, *seat.goals, *seat.secrets, *seat.knows)
    return " ".join(dict.fromkeys(part.strip() for part in parts if part.strip()))
