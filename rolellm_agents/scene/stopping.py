"""When a scene is over."""

import re
from collections.abc import Sequence
from functools import lru_cache

from rolellm_agents.scene.alike import comparable, nearly_the_same
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.names import any_of
from rolellm_agents.scene.scene import Scene
from rolellm_agents.scene.turns import turns
from rolellm_agents.scene.witness import present_in
from rolellm_agents.text import one_line


def ending(scene: Scene, lines: Sequence[SceneLine]) -> str | None:
    """Why a scene is over after these lines, in a sentence; None while it goes on.

    Words that end it count in the last turn and in what happened after it, whoever heard them; a thought
    says nothing.
    """
    if not present_in(scene, lines):
        return "Nobody is there any more."
    taken = turns(lines)
    if taken and (words := _last_words(scene, lines, taken[-1])):
        return f"The words “{one_line(words, 60)}” were said."
    if len(taken) >= scene.stop.turns:
        return (
            f"It has had its {scene.stop.turns} turns." if scene.stop.turns > 1 else "It has had its turn."
        )
    silent = scene.stop.silent
    if len(taken) >= silent and all(_is_nothing_new(taken, -back) for back in range(1, silent + 1)):
        return f"Nothing new was said for {silent} turns." if silent > 1 else "Nothing new was said."
    return None


def _last_words(scene: Scene, lines: Sequence[SceneLine], last: SceneLine) -> str | None:
    if not scene.stop.said:
        return None
    pattern = _any_of(scene.stop.said)
    for line in reversed(lines):
        found = pattern.search(line["text"]) if line["kind"] != "think" else None
        if found:
            return found.group()
        if line is last:
            return None
    return None


@lru_cache(maxsize=64)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(any_of(words))


def _is_nothing_new(taken: Sequence[SceneLine], place: int) -> bool:
    """Whether a turn has no words, or those that the same speaker has said before."""
    line = taken[place]
    said = comparable(line["text"])
    return not said or any(
        before["speaker"] == line["speaker"] and nearly_the_same(said, comparable(before["text"]))
        for before in taken[:place]
    )
