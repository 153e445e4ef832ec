"""Which lines of a scene are turns, and who spoke last."""

from collections.abc import Iterable, Sequence

from rolellm_agents.scene.line import SceneLine, is_turn
from rolellm_agents.scene.scene import NARRATOR


def is_by_a_seat(line: SceneLine) -> bool:
    """Whether somebody in a seat says, does, whispers or thinks it, be it a turn or an opening line."""
    return is_turn(line) and line["speaker"] != NARRATOR


def turns(lines: Iterable[SceneLine]) -> list[SceneLine]:
    """The turns: what those in the seats did, without the lines that the scene opened with."""
    return [line for line in lines if is_by_a_seat(line) and "opening" not in line["made_by"]]


def last_speaker(lines: Sequence[SceneLine]) -> str | None:
    """The seat that did something last, be it in an opening line; None when none did."""
    return next((line["speaker"] for line in reversed(lines) if is_by_a_seat(line)), None)
