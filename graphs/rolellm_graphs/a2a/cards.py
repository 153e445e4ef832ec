"""Agent cards: what a persona or scene is and where it answers."""

from importlib.metadata import version
from typing import Final

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

from rolellm_graphs.server.wire import ModelObject

TEXT: Final = "text/plain"
_KEY: Final = "key"


def agent_card(model: ModelObject, url: str, *, asks_for_keys: bool) -> AgentCard:
    """The card of an agent.

    Args:
        model: the persona or scene, as `/v1/models` lists it.
        url: the address at which it answers.
        asks_for_keys: whether requests need an API key.
    """
    is_scene = model.id.startswith("scene:")
    skill = AgentSkill(
        id="play" if is_scene else "talk",
        name=f"Play {model.name}" if is_scene else f"Talk with {model.name}",
        description=model.description,
        tags=["role-playing", "scene" if is_scene else "character"],
    )
    card = AgentCard(
        name=model.name,
        description=model.description,
        version=version("rolellm-agents"),
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="0.3"),
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=False),
        default_input_modes=[TEXT],
        default_output_modes=[TEXT],
        skills=[skill],
    )
    if asks_for_keys:
        bearer = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
        card.security_schemes[_KEY].CopyFrom(bearer)
        card.security_requirements.append(SecurityRequirement(schemes={_KEY: StringList()}))
    return card
