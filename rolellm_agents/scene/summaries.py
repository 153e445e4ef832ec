"""Summaries of a scene for seats whose view no longer fits into the context.

A summary contains only what its seat witnessed. It is stored with the seat's next line, so a branch from
before that line does not have it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents.prompting.prompts import load_prompt
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

    A summary covers about half of the room at once, because each summary changes the beginning of the
    prompt and invalidates the prompt cache.

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
    covered = 0
    while size > room // 2 and covered < len(rendered) - 1:
        size -= sizes[covered]
        covered += 1
    if not covered:
        return None
    language, name = loaded.scene.language, loaded.names[seat]
    remembered = (
        load_prompt("scene-summary-before", language).fill(name=name, text=before["text"]) + "\n\n"
        if before
        else ""
    )
    text = load_prompt("scene-summary", language).fill(
        name=name, before=remembered, lines="\n".join(rendered[:covered])
    )
    return SummaryRequest([HumanMessage(text)], past + covered)
