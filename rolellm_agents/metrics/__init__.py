"""Metrics of replies, confidence intervals and tests, as pure functions.

Checks that need a persona are in `rolellm_agents.reply_checks`.
"""

from rolellm_agents.metrics.agreement import krippendorff_alpha
from rolellm_agents.metrics.correlation import CORRELATIONS, Correlated, correlated
from rolellm_agents.metrics.distinct import distinct_n
from rolellm_agents.metrics.intervals import Interval, difference_interval, mean_interval
from rolellm_agents.metrics.measures import (
    MEASURES,
    Measure,
    Metric,
    ReferencedReply,
    measure_named,
    paper_recall,
    rouge_l_f1,
    score_many,
)
from rolellm_agents.metrics.paired_tests import sign_flip_p_value
from rolellm_agents.metrics.paper_cells import PaperCells, paper_cells
from rolellm_agents.metrics.rouge import Rouge, rouge_l, rouge_n, summary_rouge_l
from rolellm_agents.metrics.win_rates import length_controlled_win_rate, win_rate
from rolellm_agents.metrics.words import word_count

__all__ = [
    "CORRELATIONS",
    "MEASURES",
    "Correlated",
    "Interval",
    "Measure",
    "Metric",
    "PaperCells",
    "ReferencedReply",
    "Rouge",
    "correlated",
    "difference_interval",
    "distinct_n",
    "krippendorff_alpha",
    "length_controlled_win_rate",
    "mean_interval",
    "measure_named",
    "paper_cells",
    "paper_recall",
    "rouge_l",
    "rouge_l_f1",
    "rouge_n",
    "score_many",
    "sign_flip_p_value",
    "summary_rouge_l",
    "win_rate",
    "word_count",
]
