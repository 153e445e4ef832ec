"""How a server is set up."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from langchain_core.language_models import BaseChatModel

from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.models.catalog import get_model

MIB: Final = 2**20


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """What a server offers, and to how many at a time."""

    models: tuple[str, ...] = (DEFAULT_MODEL,)
    """Specs; who asks for none gets the first, and nobody gets any other."""
    strategy: str | None = None
    """For personas, when a request names none; what suits the model when None. A scene has its own."""
    user: str = DEFAULT_USER
    """What personas call whoever asks, for `{{user}}` in cards."""
    api_keys: tuple[str, ...] = ()
    """Any of them opens; with none, everybody may ask."""
    hosts: tuple[str, ...] = ()
    """Names that a request's Host may have; any when empty. It keeps a page of another site, whose name
    was bent to this machine, out of a server that asks for no key."""
    origins: tuple[str, ...] = ()
    """Pages whose scripts may ask (CORS)."""
    concurrent: int = 32
    """Requests that are answered at a time; the others wait in a queue, in which clients take turns."""
    queue: int = 1024
    """Requests that may wait; who comes when so many do is told to come again."""
    queue_seconds: float = 120.0
    """The longest that a request may wait; then its client is told to come again."""
    body_bytes: int = MIB
    """The largest request."""
    body_memory: int = 256 * MIB
    """What all requests together may take in memory, while they arrive, wait and are answered."""
    body_seconds: float = 20.0
    """The longest that a request may take to arrive."""
    answer_seconds: float = 300.0
    """The longest that an answer may take."""
    max_tokens: int = 1024
    """The longest answer that may be asked for, in tokens; longer wishes are cut to it."""
    scene_turns: int = 4
    """Turns of characters in one answer of a scene, at most."""
    make: Callable[..., BaseChatModel] = get_model
    """From a spec to the model; takes `conversations`, as `get_model` does."""
