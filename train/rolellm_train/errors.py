"""Errors of training that the user can fix."""

from rolellm_agents.errors import RoleLLMError


class TrainingError(RoleLLMError):
    """The recipe, the data, the base or the machine does not allow the training."""
