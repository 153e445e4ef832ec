"""Evaluation of models that play personas: questions, metrics and results. No module here calls a model."""

from rolellm_agents.evaluation.formatting import markdown_table
from rolellm_agents.evaluation.judgements import Judgement
from rolellm_agents.evaluation.paper_table import PaperRow, paper_markdown
from rolellm_agents.evaluation.result import Overlap, Result, RoleScore
from rolellm_agents.evaluation.rows import ResultRow
from rolellm_agents.evaluation.scored import BASELINE, ScoredReply, System
from rolellm_agents.evaluation.throughput import Throughput

__all__ = [
    "BASELINE",
    "Judgement",
    "Overlap",
    "PaperRow",
    "Result",
    "ResultRow",
    "RoleScore",
    "ScoredReply",
    "System",
    "Throughput",
    "markdown_table",
    "paper_markdown",
]
