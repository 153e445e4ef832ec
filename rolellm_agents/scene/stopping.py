"""When a scene ends."""

import re
from collections.abc import Sequence
from functools import lru_cache

from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.message_kinds import kind_of
from rolellm_agents.scene.names import any_of
from rolellm_agents.scene.scene import Scene
from rolellm_agents.scene.similarity import comparable, is_nearly_equal
from rolellm_agents.scene.turns import turns
from rolellm_agents.scene.witness import present_in
from rolellm_agents.text import one_line


def ending(scene: Scene, lines: Sequence[SceneLine]) -> str | None:
    """Why a scene is over after these lines, as a sentence; None while it continues.

    The words that end a scene count in the last turn and in the lines after it, except in what only its
    speaker perceives.
    """
    if not present_in(scene, lines):
        return "Nobody is present any more."
    past = turns(lines)
    if past and (words := _final_words(scene, lines, past[-1])):
        return f"The words “{one_line(words, 60)}” were said."
    if len(past) >= scene.stop.turns:
        return (
            f"It has had its {scene.stop.turns} turns." if scene.stop.turns > 1 else "It has had its turn."
        )
    silent = scene.stop.silent
    if len(past) >= silent and all(_says_nothing_new(past, -back) for back in range(1, silent + 1)):
        return f"Nothing new was said for {silent} turns." if silent > 1 else "Nothing new was said."
    return None


def _final_words(scene: Scene, lines: Sequence[SceneLine], last: SceneLine) -> str | None:
    if not scene.stop.said:
        return None
    pattern = _pattern(scene.stop.said)
    for line in reversed(lines):
        private = kind_of(line["kind"], scene.turn_kinds).perceived_by == "speaker"
        found = None if private else pattern.search(line["text"])
        if found:
            return found.group()
        if line is last:
            return None
    return None


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(any_of(words))


def _says_nothing_new(past: Sequence[SceneLine], place: int) -> bool:
    """Whether a turn is empty or repeats an earlier turn of its speaker."""
    line = past[place]
    said = comparable(line["text"])
    return not said or any(
        before["speaker"] == line["speaker"] and is_nearly_equal(said, comparable(before["text"]))
        for before in past[:place]
    )
