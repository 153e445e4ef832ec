"""What can go wrong in training that a person can put right."""

from rolellm_agents.errors import RoleLLMError


class TrainingError(RoleLLMError):
    """A recipe, data, a base or a machine that cannot be trained with."""
