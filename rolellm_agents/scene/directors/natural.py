"""As people talk: who is spoken to answers, and else whoever likes to talk.

The rules are those of SillyTavern's natural order (`public/scripts/group-chats.js`), for one speaker a
turn, and with two of our own: who is whispered to comes first, and only who heard a line is called by it.
"""

from collections.abc import Collection

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.names import index_names, names_of
from rolellm_agents.scene.turns import is_seat_line, last_speaker


def natural(situation: Situation) -> NextSpeaker:
    """Choose who is called by what was said last; else by talkativeness; else by chance.

    Nobody answers themselves, unless they are alone.
    """
    last = last_speaker(situation.lines)
    others = [seat for seat in situation.present if seat != last]
    if not others:
        return NextSpeaker(seat=situation.present[0], why="Nobody else is there.")
    return _called(situation, others) or _willing(situation, others)


def _called(situation: Situation, others: Collection[str]) -> NextSpeaker | None:
    """The first who is whispered to or named in the last line that calls anybody.

    What happened since somebody spoke last, such as narration, calls as well, and before it.
    """
    for line in reversed(situation.lines):
        heard = [seat for seat in others if seat in line["audience"]]
        named = [seat for seat in _named(situation, line) if seat in heard]
        if named:
            return NextSpeaker(seat=named[0], why="Was named.")
        if line["kind"] == "whisper" and heard:
            return NextSpeaker(seat=heard[0], why="Was whispered to.")
        if is_seat_line(line):
            return None
    return None


def _named(situation: Situation, line: SceneLine) -> tuple[str, ...]:
    return index_names(names_of(situation.scene)).mentioned(line["text"])


def _willing(situation: Situation, others: Collection[str]) -> NextSpeaker:
    talkativeness = {seat.id: seat.talkativeness for seat in situation.scene.cast}
    for seat in situation.chance.sample([*others], len(others)):
        if situation.chance.random() < talkativeness[seat]:
            return NextSpeaker(seat=seat, why=f"Felt like talking (talkativeness {talkativeness[seat]:g}).")
    talkers = [seat for seat in others if talkativeness[seat] > 0]
    return NextSpeaker(
        seat=situation.chance.choice(talkers or [*others]), why="By chance, as nobody felt like it."
    )
