"""The error of reports."""

from rolellm_agents.errors import RoleLLMError


class ReportError(RoleLLMError):
    """A folder that holds nothing to report, or a report that cannot be written."""
