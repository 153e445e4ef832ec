"""Judges of role play: what they are given, what they say, rubrics, planted faults; all but graphs."""

from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.judged import ConversationTurn, Judged, PairJudge, ReplyJudge
from rolellm_agents.judging.verdict import Status, Verdict

__all__ = ["ConversationTurn", "Judged", "JudgingError", "PairJudge", "ReplyJudge", "Status", "Verdict"]
