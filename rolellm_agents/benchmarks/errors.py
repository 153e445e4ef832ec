"""The error of unreadable benchmark files."""

from rolellm_agents.errors import RoleLLMError


class BenchmarkError(RoleLLMError):
    """A benchmark's file cannot be read, or is not what its publishers published."""
