"""Summaries of a scene for seats whose view no longer fits into the context.

A summary contains only what its seat witnessed. It is stored with the seat's next line, so a branch from
before that line does not have it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from rolellm_agents.prompting.summary import lines_to_cover, summary_prompt
from rolellm_agents.scene.line import SceneLine, Summary
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.view import render_line, turn_cue
from rolellm_agents.scene.witness import witnessed


class SummaryRequest(NamedTuple):
    """The messages that ask a model for a summary, and the number of lines that the summary will cover."""

    messages: list[BaseMessage]
    lines: int


def latest_summary(lines: Sequence[SceneLine], seat: str) -> Summary | None:
    """The newest summary of a seat among the lines."""
    own = (line["made_by"].get("summary") for line in reversed(lines) if line["speaker"] == seat)
    return next((Summary(text=found["text"], lines=found["lines"]) for found in own if found), None)


def summary_needed(
    loaded: LoadedScene,
    seat: str,
    lines: Sequence[SceneLine],
    *,
    room: int,
    count: Callable[[str], int],
) -> SummaryRequest | None:
    """The request for a new summary, if the lines since the seat's last one no longer fit; else None.

    `room` is the most tokens of the seat's view.
    """
    before = latest_summary(lines, seat)
    past = before["lines"] if before else 0
    unread = witnessed(lines, seat)[past:]
    rendered = [render_line(loaded, line, seat) for line in unread]
    cue = turn_cue(loaded, seat)  # stands before each of the seat's own lines
    sizes = [
        count(f"{cue}\n{text}" if line["speaker"] == seat else text)
        for text, line in zip(rendered, unread, strict=True)
    ]
    size = sum(sizes) + (count(before["text"]) if before else 0)
    if size <= room:
        return None
    covered = lines_to_cover(sizes, room, before=size - sum(sizes))
    if not covered:
        return None
    text = before["text"] if before else ""
    messages = summary_prompt(loaded.names[seat], rendered[:covered], text, loaded.scene.language)
    return SummaryRequest(messages, past + covered)
