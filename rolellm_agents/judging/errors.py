"""Errors in the input of judges."""

from rolellm_agents.errors import RoleLLMError


class JudgingError(RoleLLMError):
    """A rubric, a file of replies or recorded verdicts that cannot be used."""
