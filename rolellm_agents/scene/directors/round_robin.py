"""The seats speak in turn, in the order of the cast."""

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation
from rolellm_agents.scene.turns import last_speaker


def round_robin(situation: Situation) -> NextSpeaker:
    """The next present seat after the last speaker; the first when nobody has spoken."""
    order = [seat.id for seat in situation.scene.cast]
    last = last_speaker(situation.lines)
    start = order.index(last) + 1 if last in order else 0
    following = [*order[start:], *order[:start]]
    return NextSpeaker(
        seat=next(seat for seat in following if seat in situation.present),
        why="Next in the order of the cast.",
    )
