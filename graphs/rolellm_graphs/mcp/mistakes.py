"""What went wrong, in one sentence for a client."""

from rolellm_agents.errors import RoleLLMError
from rolellm_graphs.server.failures import ApiError, api_error


class MistakeError(RoleLLMError):
    """A client asks for something that does not exist, or in the wrong form."""


def local_sentence(error: Exception) -> str:
    """An error for the user of this machine, who may read everything."""
    cause = error.__cause__ if isinstance(error, ApiError) else error
    return str(cause) if isinstance(cause, RoleLLMError) else remote_sentence(error)


def remote_sentence(error: Exception) -> str:
    """An error for a client elsewhere, without what only the server's owner may read."""
    return str(error) if isinstance(error, MistakeError) else api_error(error).message
