"""Judges of role play: input, verdicts, rubrics and planted faults. The graphs are in `rolellm_graphs`."""

from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.judged import ConversationTurn, Judged, PairJudge, ReplyJudge
from rolellm_agents.judging.verdict import Status, Verdict

__all__ = ["ConversationTurn", "Judged", "JudgingError", "PairJudge", "ReplyJudge", "Status", "Verdict"]
