"""Everybody speaks once, in random order, before anybody speaks again.

This is SillyTavern's pooled order (`public/scripts/group-chats.js`): choose among those who have not spoken
since the person spoke; when all have, choose anybody but the last speaker. Here that begins a new round.
"""

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation
from rolellm_agents.scene.turns import is_seat_line, last_speaker


def pooled(situation: Situation) -> NextSpeaker:
    """Choose a seat that has not spoken in this round; a person's line begins a new round."""
    spoken: set[str] = set()
    for line in situation.lines:
        if not is_seat_line(line):
            continue
        if line["speaker"] in spoken or line["made_by"].get("person"):
            spoken = set()
        spoken.add(line["speaker"])
    silent = [seat for seat in situation.present if seat not in spoken]
    if silent:
        return NextSpeaker(seat=situation.chance.choice(silent), why="Has not spoken in this round.")
    last = last_speaker(situation.lines)
    others = [seat for seat in situation.present if seat != last] or [*situation.present]
    return NextSpeaker(seat=situation.chance.choice(others), why="Begins a new round.")
