"""The seats speak in the order that the scene's file gives."""

from collections.abc import Container, Sequence

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.scene import Scene
from rolellm_agents.scene.turns import turns


def scripted(situation: Situation) -> NextSpeaker:
    """The next present seat in the order; None at its end.

    Each past turn used one place of the order, whichever seat took it. Absent seats, and people who passed,
    were left out.
    """
    order = situation.scene.director.order
    place = _place(situation.scene, situation.lines)
    chosen = _next(order, place, situation.present)
    left_out = ", ".join(dict.fromkeys(order[place:chosen]))
    absent = f" Not there: {left_out}." if left_out else ""
    if chosen >= len(order):
        return NextSpeaker(seat=None, why=f"The order is at its end.{absent}")
    return NextSpeaker(seat=order[chosen], why=f"Number {chosen + 1} of the order.{absent}")


def _place(scene: Scene, lines: Sequence[SceneLine]) -> int:
    """How many places of the order are used."""
    order = scene.director.order
    there = {seat.id for seat in scene.cast if seat.present}
    persons = {seat.id for seat in scene.cast if seat.person}
    own = turns(lines)
    persons |= {line["speaker"] for line in own if line["made_by"].get("person")}
    taken = {id(line) for line in own}
    place = 0
    for line in lines:
        if line["kind"] == "join":
            there.add(line["speaker"])
        elif line["kind"] == "leave":
            there.discard(line["speaker"])
        elif id(line) in taken:
            place = _next(order, place, there)
            while line["speaker"] in order[place + 1 :] and order[place] in persons - {line["speaker"]}:
                place = _next(order, place + 1, there)
            place += 1
    return place


def _next(order: Sequence[str], place: int, there: Container[str]) -> int:
    """Index of the next present seat from `place` on; the order's length when there is none."""
    return next((at for at in range(place, len(order)) if order[at] in there), len(order))
