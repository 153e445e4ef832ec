"""Natural order: the addressed character answers, otherwise a talkative one.

The rules are those of SillyTavern's natural order (`public/scripts/group-chats.js`) for one speaker per
turn, with two of our own: the addressee of a whisper comes first, and a line calls only those who heard it.
"""

from collections.abc import Collection

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.names import index_names, names_of
from rolellm_agents.scene.turns import is_seat_line, last_speaker


def natural(situation: Situation) -> NextSpeaker:
    """Choose a seat that the last line calls, otherwise by talkativeness, otherwise by chance.

    The last speaker is never chosen, unless nobody else is present.
    """
    last = last_speaker(situation.lines)
    others = [seat for seat in situation.present if seat != last]
    if not others:
        return NextSpeaker(seat=situation.present[0], why="Nobody else is there.")
    return _called(situation, others) or _willing(situation, others)


def _called(situation: Situation, others: Collection[str]) -> NextSpeaker | None:
    """The first seat that is named or whispered to, in the last spoken line or the events after it.

    Later lines take precedence.
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
        seat=situation.chance.choice(talkers or [*others]),
        why="By chance, because nobody felt like talking.",
    )
