"""Who calls which agent."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import DefaultServerCallContextBuilder
from starlette.requests import Request

from rolellm_graphs.server.clients import client_of
from rolellm_graphs.server.names import AgentName

_CALLER: Final = "rolellm.a2a.caller"


@dataclass(frozen=True)
class Caller(User):
    """A client of one agent. Its tasks and conversations are its own, and those of this agent."""

    client: Hashable
    agent: AgentName

    @property
    def is_authenticated(self) -> bool:
        """Whether it may call: the server's layers have refused all others."""
        return True

    @property
    def user_name(self) -> str:
        """The owner of its tasks."""
        return repr((self.client, self.agent))


def note_agent(request: Request, agent: AgentName) -> None:
    """Note the agent that a request calls."""
    request.scope[_CALLER] = Caller(client_of(request.scope), agent)


def caller_of(context: ServerCallContext) -> Caller:
    """The caller of a request."""
    caller = context.user
    assert isinstance(caller, Caller), "CallerContexts names the caller"  # noqa: S101
    return caller


class CallerContexts(DefaultServerCallContextBuilder):
    """Tells the SDK who calls, as `note_agent` has noted it."""

    def build_user(self, request: Request) -> User:
        """The caller."""
        caller: Caller = request.scope[_CALLER]
        return caller
