"""Natural order: the addressed character answers, otherwise a talkative one.

The rules are those of SillyTavern's natural order (`public/scripts/group-chats.js`) for one speaker per
turn, with three of our own: the addressee of a whisper comes first, a line calls only those who heard it,
and a character whom nobody names gets a turn before the others talk on for long.
"""

from collections.abc import Collection

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.message_kinds import kind_of
from rolellm_agents.scene.names import index_names
from rolellm_agents.scene.turns import is_seat_line, last_speaker

_ROUNDS = 2
"""A character is forgotten after so many turns of each of the others."""
_PATIENCE = 5
"""The fewest turns after which a character is forgotten, so that two can have an exchange."""
_ADDRESSED = {"whisper": "Was whispered to."}


def natural(situation: Situation) -> NextSpeaker:
    """Choose a seat that the last line calls, otherwise by talkativeness, otherwise by chance.

    The last speaker is never chosen, unless nobody else is present.
    """
    last = last_speaker(situation.lines)
    others = [seat for seat in situation.present if seat != last]
    if not others:
        return NextSpeaker(seat=situation.present[0], why="Nobody else is there.")
    return _forgotten(situation, others) or _called(situation, others) or _willing(situation, others)


def _forgotten(situation: Situation, others: Collection[str]) -> NextSpeaker | None:
    """The seat with the longest silence, if the others have talked on for long without it."""
    talkativeness = {seat.id: seat.talkativeness for seat in situation.scene.cast}
    silences = {seat: _silence(situation, seat) for seat in others if talkativeness[seat] > 0}
    seat = max(silences, key=lambda seat: silences[seat], default=None)
    if seat is None or silences[seat] < max(_PATIENCE, _ROUNDS * (len(situation.present) - 1)):
        return None
    return NextSpeaker(seat=seat, why=f"Had no turn for {silences[seat]} turns.")


def _silence(situation: Situation, seat: str) -> int:
    """The number of turns of others since the seat's last turn, or since it entered."""
    turns = 0
    for line in reversed(situation.lines):
        if line["speaker"] == seat:
            return turns
        turns += is_seat_line(line)
    return turns


def _called(situation: Situation, others: Collection[str]) -> NextSpeaker | None:
    """The first seat that is named or alone addressed, in the last spoken line or the events after it.

    Later lines take precedence.
    """
    for line in reversed(situation.lines):
        heard = [seat for seat in others if seat in line["audience"]]
        named = [seat for seat in _named(situation, line) if seat in heard]
        if named:
            return NextSpeaker(seat=named[0], why="Was named.")
        if heard and kind_of(line["kind"], situation.scene.turn_kinds).perceived_by == "addressees":
            return NextSpeaker(seat=heard[0], why=_ADDRESSED.get(line["kind"], "Was addressed."))
        if is_seat_line(line):
            return None
    return None


def _named(situation: Situation, line: SceneLine) -> tuple[str, ...]:
    names = {seat.id: seat.name or seat.id.replace("-", " ") for seat in situation.scene.cast}
    return index_names(names).mentioned(line["text"])


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
