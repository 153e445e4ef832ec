"""Errors of reports."""

from rolellm_agents.errors import RoleLLMError


class ReportError(RoleLLMError):
    """A folder contains nothing to report, or a report cannot be written."""
