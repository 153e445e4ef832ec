"""Telling the reader of a graph how much of its prompt a model in this process has read."""

from typing import Final

from langgraph.config import get_stream_writer

from rolellm_agents.models.prefill import PrefillProgress

PREFILL: Final = "prefill"
"""Key of a part of the graph's custom stream: the tokens that were read, and all of the prompt."""


def write_prefill(progress: PrefillProgress) -> None:
    """Write the progress to the custom stream of a graph; called in the context of one of its nodes."""
    get_stream_writer()({PREFILL: progress._asdict()})
