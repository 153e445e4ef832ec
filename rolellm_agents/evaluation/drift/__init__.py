"""Persona drift in interviews: the questions, the marks of each answer, and how they change by turn."""

from rolellm_agents.evaluation.drift.by_turn import Slope, TurnFigure, slopes_of, turn_figures
from rolellm_agents.evaluation.drift.course import Course, PlannedQuestion, load_course, planned_questions
from rolellm_agents.evaluation.drift.marks import AnsweredQuestion, marks_of

__all__ = [
    "AnsweredQuestion",
    "Course",
    "PlannedQuestion",
    "Slope",
    "TurnFigure",
    "load_course",
    "marks_of",
    "planned_questions",
    "slopes_of",
    "turn_figures",
]
