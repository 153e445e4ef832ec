"""Judges of role play: what they are given, what they say, rubrics, planted faults; all but graphs."""

from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.judged import Judged, PairJudge, ReplyJudge, Turn
from rolellm_agents.judging.verdict import Status, Verdict

__all__ = ["Judged", "JudgingError", "PairJudge", "ReplyJudge", "Status", "Turn", "Verdict"]
