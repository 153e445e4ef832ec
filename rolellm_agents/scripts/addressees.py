"""To whom each speech goes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rolellm_agents.scripts.script import ScriptPassage

_SOON = 3
"""Passages within which an answer comes, if one comes."""


def add_addressees(passages: Sequence[ScriptPassage]) -> Iterator[ScriptPassage]:
    """Each speech with its addressee: who spoke before in the same scene, or else who speaks next."""
    before, scene = "", -1
    for at, passage in enumerate(passages):
        if passage.scene != scene:
            before, scene = "", passage.scene
        if not passage.speaker:
            yield passage
            continue
        following = (
            other.speaker
            for other in passages[at + 1 : at + 1 + _SOON]
            if other.scene == scene and other.speaker not in ("", passage.speaker)
        )
        to = before if before not in ("", passage.speaker) else next(following, "")
        yield replace(passage, to=to)
        before = passage.speaker
