"""Errors of training that the user can fix."""

from rolellm_agents.errors import RoleLLMError


class TrainingError(RoleLLMError):
    """A training that is impossible with this recipe, data, base model or machine."""
