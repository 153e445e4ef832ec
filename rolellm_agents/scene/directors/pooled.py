"""Everybody once, in a random order, before anybody again.

So SillyTavern's pooled order (`public/scripts/group-chats.js`): those who have not spoken since the person
spoke; and when all have, anybody but the last. Here then the next round begins.
"""

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation
from rolellm_agents.scene.turns import is_seat_line, last_speaker


def pooled(situation: Situation) -> NextSpeaker:
    """One of those who have not spoken in this round; a line of a person begins a round."""
    spoken: set[str] = set()
    for line in situation.lines:
        if not is_seat_line(line):
            continue
        if line["speaker"] in spoken or line["made_by"].get("person"):
            spoken = set()
        spoken.add(line["speaker"])
    waiting = [seat for seat in situation.present if seat not in spoken]
    if waiting:
        return NextSpeaker(seat=situation.chance.choice(waiting), why="Has not spoken in this round.")
    last = last_speaker(situation.lines)
    others = [seat for seat in situation.present if seat != last] or [*situation.present]
    return NextSpeaker(seat=situation.chance.choice(others), why="Begins a new round.")
