"""How good replies are, and how sure that is: pure functions."""

from rolellm_agents.scoring.distinct import distinct_n
from rolellm_agents.scoring.intervals import Interval, difference_interval, mean_interval
from rolellm_agents.scoring.measures import MEASURES, Measure, paper_recall, rouge_l_f1
from rolellm_agents.scoring.rouge import RougeL, rouge_l, summary_rouge_l
from rolellm_agents.scoring.words import word_count

__all__ = [
    "MEASURES",
    "Interval",
    "Measure",
    "RougeL",
    "difference_interval",
    "distinct_n",
    "mean_interval",
    "paper_recall",
    "rouge_l",
    "rouge_l_f1",
    "summary_rouge_l",
    "word_count",
]
