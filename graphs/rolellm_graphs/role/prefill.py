"""Telling the reader of a graph how much of its prompt a model in this process has read."""

from typing import Final

from langgraph.types import StreamWriter

from rolellm_agents.models.prefill import PrefillProgress

PREFILL: Final = "prefill"
"""Key of a part of the graph's custom stream: the tokens that were read, and all of the prompt."""


def write_prefill(write: StreamWriter, progress: PrefillProgress) -> None:
    """Write the progress to the custom stream of a graph, in the context of one of its nodes."""
    write({PREFILL: progress._asdict()})
