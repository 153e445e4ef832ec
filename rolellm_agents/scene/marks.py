"""The mark before a line's words: which message kind it means, and for whom.

Private words never become public by a misreading: a mark of an addressed kind without a recognised
addressee makes a thought, which nobody else perceives.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rolellm_agents.scene.message_kinds import THINK, MessageKind
from rolellm_agents.scene.names import SeatNames


class Mark(NamedTuple):
    """The meaning of a mark."""

    kind: MessageKind
    to: tuple[str, ...] = ()
    """The addressees, of a kind that only they perceive."""
    words: str = ""
    """Spoken words inside the mark, as in “(thinks: he lies)”."""


_WRAPPING = " \t\n*_()[]（）【】.,，。;；-—"
_COLON = re.compile(r" ?[:：] ?")


def mark_in(inside: str, names: SeatNames, turn_kinds: Sequence[MessageKind]) -> Mark | None:
    """The meaning of the words in brackets or before a colon.

    Args:
        inside: the words, without the brackets.
        names: names of the possible addressees.
        turn_kinds: the speaker's allowed turn kinds; marks of other kinds are ignored. Words for nobody who
            is known are a thought even where `think` is not allowed.

    Returns:
        None when the words are no mark.
    """
    parts = _COLON.split(inside.strip(_WRAPPING), maxsplit=1)
    head, words = parts[0].strip(_WRAPPING), "".join(parts[1:])
    for kind in sorted(turn_kinds, key=lambda kind: kind.is_built_in):
        reading = kind.reader.read(head, names) if kind.reader else None
        if reading is None:
            continue
        said = words or reading.words
        if kind.perceived_by != "addressees":
            return Mark(kind, (), said)
        to = tuple(seat for seat in reading.to if seat in names.names)
        return Mark(kind, to, said) if to else Mark(THINK, (), said)
    return None
