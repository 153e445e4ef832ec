"""What a character keeps of a scene that has grown too long for its model.

Only what the seat itself witnessed goes into its summary. The summary is kept with the seat's next line, so
whoever goes back before that line never had it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.scene.line import SceneLine, Summary
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.view import told_line
from rolellm_agents.scene.witness import witnessed


class SummaryRequest(NamedTuple):
    """What a model is asked, and of how many lines its answer is the summary."""

    messages: list[BaseMessage]
    lines: int


def latest_summary(lines: Sequence[SceneLine], seat: str) -> Summary | None:
    """What a seat remembers, as of these lines."""
    own = (line["made_by"].get("summary") for line in reversed(lines) if line["speaker"] == seat)
    return next((Summary(text=one["text"], lines=one["lines"]) for one in own if one), None)


def summary_needed(
    loaded: LoadedScene,
    seat: str,
    lines: Sequence[SceneLine],
    *,
    room: int,
    count: Callable[[str], int],
) -> SummaryRequest | None:
    """What to ask a model, if what a seat witnessed since its last summary no longer fits.

    About half the room is freed at once: each summary changes how the prompt begins, and a model must then
    read it anew.

    Args:
        loaded: the scene.
        seat: whose view.
        lines: all that happened.
        room: tokens that the seat's view may have.
        count: the tokens of a text.
    """
    before = latest_summary(lines, seat)
    past = before["lines"] if before else 0
    told = [told_line(loaded, line, seat) for line in witnessed(lines, seat)[past:]]
    sizes = [count(line) for line in told]
    size = sum(sizes) + (count(before["text"]) if before else 0)
    if size <= room:
        return None
    gone = 0
    while size > room // 2 and gone < len(told) - 1:
        size -= sizes[gone]
        gone += 1
    if not gone:
        return None
    language, name = loaded.scene.language, loaded.names[seat]
    remembered = (
        load_prompt("scene-summary-before", language).fill(name=name, text=before["text"]) + "\n\n"
        if before
        else ""
    )
    text = load_prompt("scene-summary", language).fill(
        name=name, before=remembered, lines="\n".join(told[:gone])
    )
    return SummaryRequest([HumanMessage(text)], past + gone)
