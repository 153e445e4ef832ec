"""Small scenes, and models whose lines never come twice."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from helpers.texts import number_of
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.scene import LoadedScene, Scene, SceneLine, Seat, cast_scene
from rolellm_agents.scene.scene import Director, Event, Narrator, OpeningLine, Stop
from rolellm_agents.transcript.message import Kind
from rolellm_graphs.scene.state import PersonsLine

_SYLLABLES = (
    "ba",
    "cor",
    "del",
    "fin",
    "gol",
    "hur",
    "jas",
    "kem",
    "lir",
    "mon",
    "nep",
    "pos",
    "tra",
    "vul",
)


def room(*names: str, director: str | Director = "round-robin", **fields: Any) -> LoadedScene:
    """A room with some people in it, Ada, Ben and Cleo unless others are named.

    Args:
        names: one seat each; the id is the name in small letters.
        director: its kind.
        fields: of the scene; `seats` holds fields of seats by their ids.
    """
    told: Mapping[str, Mapping[str, Any]] = fields.pop("seats", {})
    cast = tuple(
        Seat(
            **{
                "id": name.lower(),
                "name": name,
                "about": f"{name} likes tea.",
                **told.get(name.lower(), {}),
            }
        )
        for name in names or ("Ada", "Ben", "Cleo")
    )
    scene = Scene(
        **{
            "id": "room",
            "title": "A room",
            "setting": "A small room with one lamp.",
            "cast": cast,
            "director": director,
            "manners": ("say", "act", "whisper", "think"),
            **fields,
        }
    )
    return cast_scene(scene)


def prattle(chance: random.Random, syllables: int = 24) -> str:
    """A line of made-up words, unlike any other."""
    words = ["".join(chance.choices(_SYLLABLES, k=2)) for _ in range(syllables // 2)]
    return " ".join(words).capitalize() + "."


def prattlers(loaded: LoadedScene, lines: int = 30) -> dict[str, ScriptedChatModel]:
    """A model for each seat, which says one new line after another and then fails."""
    return {
        seat: ScriptedChatModel(replies=[prattle(chance) for _ in range(lines)], once=True)
        for seat in loaded.seats
        for chance in [random.Random(seat)]
    }


def line_by(seat: str, text: str, kind: Kind = "say", to: Iterable[str] = ()) -> PersonsLine:
    """What a person does."""
    return PersonsLine(seat=seat, kind=kind, to=[*to], text=text)


def told_in(prompt: Sequence[BaseMessage]) -> str:
    """All the words of a prompt."""
    return "\n".join(message.text for message in prompt)


def by_speaker(lines: Iterable[SceneLine]) -> list[tuple[str, str]]:
    """Who did what kind of thing."""
    return [(line["speaker"], line["kind"]) for line in lines]


def by_prompt(loaded: LoadedScene) -> dict[str, FunctionModel]:
    """Models that say the same to the same prompt, and do all that characters can do."""

    def answer(prompt: Sequence[BaseMessage]) -> str:
        chance = random.Random(number_of(prompt))
        if '{"want"' in prompt[-1].text:
            return f'{{"want": {chance.randrange(10)}}}'
        other = chance.choice(list(loaded.names.values()))
        mark = chance.choice(("", "", f"(whispers to {other}) ", "(thinks) ", f"{other}: "))
        said = prattle(chance)
        return f"*{said}*" if chance.random() < 0.2 else mark + said

    return {seat: FunctionModel(function=answer, n_ctx=500, max_tokens=40) for seat in loaded.seats}


def everybodys(loaded: LoadedScene) -> FunctionModel:
    """What directs and narrates."""

    def answer(prompt: Sequence[BaseMessage]) -> str:
        chance = random.Random(number_of(prompt))
        name = chance.choice(list(loaded.names.values()))
        return f'{{"next": "{name}"}}' if '{"next"' in prompt[-1].text else prattle(chance)

    return FunctionModel(function=answer)


def full_room(director: str | Director) -> LoadedScene:
    """A scene in which everything happens that can happen by itself."""
    return room(
        "Ada",
        "Ben",
        "Cleo",
        "Dora",
        director=director,
        seats={"dora": {"present": False}},
        opening=(
            OpeningLine(text="It is late."),
            OpeningLine(speaker="ben", kind="think", text="At last."),
        ),
        events=(Event(after=2, join="dora"), Event(after=5, leave="ben"), Event(after=5, text="It rains.")),
        narrator=Narrator(every=4),
        stop=Stop(turns=9),
        seed=3,
    )


SCRIPT = Director(
    kind="scripted", order=("ada", "ben", "ada", "cleo", "ben", "dora", "cleo", "ada", "dora")
)
DIRECTORS: list[str | Director] = ["round-robin", "natural", "pooled", "bidding", "model", SCRIPT]
