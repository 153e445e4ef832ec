"""From conversations and played scenes to what is judged of them."""

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

_SPOKEN: Final[tuple[Kind, ...]] = ("say", "whisper", "act", "think")


def judged_of_chat(persona: Persona, path: Sequence[Message], *, user: str, prefix: str) -> list[Judged]:
    """Each answer of a persona in a conversation with one person, with what was said before it.

    What the persona says first is no answer, so it is not judged, but it is what later ones follow.

    Args:
        persona: whose answers they are.
        path: the conversation as it stands.
        user: what the person is called, which a card's macros are filled with.
        prefix: begins each key; the answer's number among the messages follows.
    """
    filled = with_macros(persona, user)
    turns: list[ConversationTurn] = []
    found: list[Judged] = []
    for number, message in enumerate(path, 1):
        if message.kind not in _SPOKEN:
            continue
        if message.speaker != USER and turns and turns[-1].speaker == "user":
            found.append(
                Judged(key=f"{prefix}/{number}", persona=filled, turns=tuple(turns), reply=message.text)
            )
        turns.append(ConversationTurn("user" if message.speaker == USER else "persona", message.text))
    return found


def scene_of_chat(persona: Persona, path: Sequence[Message], *, user: str, key: str) -> JudgedScene:
    """A conversation of two as a scene."""
    filled = with_macros(persona, user)
    names = {USER: user}
    return JudgedScene(
        key=key,
        title=f"{filled.name} – {user}",
        setting="",
        language=filled.language,
        people={filled.name: filled.description},
        lines=tuple(
            JudgedSceneLine(names.get(one.speaker, filled.name), one.text)
            if one.kind in _SPOKEN
            else JudgedSceneLine("", one.text)
            for one in path
        ),
    )


def played_scene(loaded: LoadedScene, lines: Sequence[SceneLine], key: str) -> JudgedScene:
    """A scene as it was played; who of its cast can be found is told with their description.

    Args:
        loaded: the scene, whose cast need not be brought in.
        lines: what happened, without the setting.
        key: of the scene in the run.
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
    if line["speaker"] == NARRATOR or line["kind"] not in _SPOKEN:
        return JudgedSceneLine("", line["text"])
    name = loaded.names.get(line["speaker"], line["speaker"])
    # How it was meant belongs to the words: a whisper is no answer that others could hear.
    told = render_line(loaded, line)
    return JudgedSceneLine(name, told.removeprefix(f"{name}: ").removeprefix(f"{name}："))


def _about(seat: Seat, personas: Mapping[str, Persona]) -> str:
    """Who somebody is in the scene, with what they want and hide: a critic may know it."""
    persona = personas.get(seat.id)
    if persona is None and seat.persona:
        # A run is judged as well when somebody of its cast is not here any more.
        with contextlib.suppress(PersonaError):
            persona = load_persona(seat.persona)
    told = (persona.description if persona else "", seat.about, *seat.goals, *seat.secrets, *seat.knows)
    return " ".join(dict.fromkeys(one.strip() for one in told if one.strip()))
