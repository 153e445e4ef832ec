"""Options of a server."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from langchain_core.language_models import BaseChatModel

from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.models.catalog import get_model
from rolellm_agents.recall.embeddings import DEFAULT_EMBEDDINGS
from rolellm_graphs.server.access_log import AccessLogForm
from rolellm_graphs.server.tool_use import ToolOption

LogLevel = Literal["debug", "info", "warning", "error"]
MIB: Final = 2**20


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Models, limits and access rules of a server."""

    models: tuple[str, ...] = (DEFAULT_MODEL,)
    """Offered specs; the first is the default."""
    offered: tuple[str, ...] = ()
    """The offered personas and, after `scene:`, scenes; all when empty."""
    strategy: str | None = None
    """Default strategy of personas; None for the model's preferred strategy. A scene has its own."""
    user: str = DEFAULT_USER
    """The user's name, which replaces `{{user}}` in cards."""
    api_keys: tuple[str, ...] = ()
    """Accepted API keys, as they are."""
    key_file: Path | None = None
    """A file with the hashes of further keys; see `api_keys`. Without keys and file, access is open."""
    requests_per_minute: int | None = None
    """Maximum number of requests of a client in a minute: of a key without a limit of its own, or of an
    address if there are no keys. None for no limit."""
    hosts: tuple[str, ...] = ()
    """Names that a request's Host may have; any when empty. It keeps a page of another site, whose name
    was bent to this machine, out of a server that asks for no key."""
    root_path: str = ""
    """The prefix under which a proxy offers the server, such as `/rolellm`; empty for none."""
    access_log: AccessLogForm | None = None
    """The form of the access log; None for no access log."""
    log_level: LogLevel = "warning"
    """The least severe messages in the log of the server's process."""
    origins: tuple[str, ...] = ()
    """Allowed CORS origins."""
    connections_per_address: int = 256
    """Maximum number of connections of an address, except those of this machine."""
    head_seconds: float = 10.0
    """Maximum time for receiving the head of a request, in seconds."""
    stuck_seconds: float = 60.0
    """Maximum time in which a client reads nothing of its answer, in seconds."""
    concurrent: int = 32
    """Maximum number of requests being answered; others wait in a fair queue."""
    queue: int = 1024
    """Maximum number of pending requests; more are rejected with a retry time."""
    queue_seconds: float = 120.0
    """Maximum time in the queue; then the request is rejected with a retry time."""
    body_bytes: int = MIB
    """Maximum size of a request, in bytes."""
    body_memory: int = 256 * MIB
    """Maximum memory for the bodies of all requests, in bytes."""
    body_seconds: float = 20.0
    """Maximum time for receiving a request, in seconds."""
    answer_seconds: float = 300.0
    """Maximum time for an answer, in seconds."""
    max_tokens: int = 1024
    """Maximum length of an answer, in tokens; longer requests are reduced to it."""
    tools: ToolOption | None = None
    """Whether models get the tools of requests; None for each model's default (`tool_use`)."""
    plain_tasks: bool = True
    """Whether the model alone answers requests that are tasks of a chat program (`client_tasks`)."""
    embeddings: tuple[str, ...] = (DEFAULT_EMBEDDINGS,)
    """Names of the offered embeddings, as for `get_embeddings`."""
    scene_turns: int = 4
    """Maximum number of turns in one answer of a scene."""
    make: Callable[..., BaseChatModel] = get_model
    """From a spec to the model; takes `conversations`, as `get_model` does."""

    @property
    def asks_for_keys(self) -> bool:
        """Whether requests need an API key."""
        return bool(self.api_keys) or self.key_file is not None
