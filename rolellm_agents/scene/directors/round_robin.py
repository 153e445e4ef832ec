"""One after another, in the order of the cast."""

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation
from rolellm_agents.scene.turns import last_speaker


def round_robin(situation: Situation) -> NextSpeaker:
    """The next of those who are there, after the one who spoke last; the first when nobody did."""
    order = [seat.id for seat in situation.scene.cast]
    last = last_speaker(situation.lines)
    start = order.index(last) + 1 if last in order else 0
    following = [*order[start:], *order[:start]]
    return NextSpeaker(
        seat=next(seat for seat in following if seat in situation.present),
        why="Next in the order of the cast.",
    )
