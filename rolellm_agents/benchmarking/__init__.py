"""Benchmarks of models that play personas: what is asked, measured and told; all of it without a model."""

from rolellm_agents.benchmarking.judgements import Judgement
from rolellm_agents.benchmarking.markdown import markdown_table
from rolellm_agents.benchmarking.paper_table import PaperRow, paper_markdown
from rolellm_agents.benchmarking.result import Overlap, Result, RoleScore
from rolellm_agents.benchmarking.rows import Row
from rolellm_agents.benchmarking.scored import BASELINE, Scored, System
from rolellm_agents.benchmarking.throughput import Throughput

__all__ = [
    "BASELINE",
    "Judgement",
    "Overlap",
    "PaperRow",
    "Result",
    "RoleScore",
    "Row",
    "Scored",
    "System",
    "Throughput",
    "markdown_table",
    "paper_markdown",
]
