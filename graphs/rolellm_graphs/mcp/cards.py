"""The resources: each persona's file."""

from urllib.parse import quote, unquote

from mcp import types
from pydantic import AnyUrl

from rolellm_agents.persona.yaml import to_yaml
from rolellm_agents.text import one_line
from rolellm_graphs.mcp.mistakes import MistakeError
from rolellm_graphs.mcp.prompts import persona_named
from rolellm_graphs.server.service import Service

_SCHEME = "persona:///"
_TYPE = "application/yaml"
_ABOUT = 200


class Cards:
    """The resources of a server: `persona:///` and a persona's id."""

    def __init__(self, service: Service) -> None:
        """Create the resources over a service."""
        self._service = service

    def list(self) -> list[types.Resource]:
        """One resource for each persona."""
        self._service.agents.reload()
        return [
            types.Resource(
                uri=AnyUrl(_SCHEME + quote(persona.id)),
                name=persona.id,
                title=persona.name,
                description=one_line(persona.description, _ABOUT),
                mimeType=_TYPE,
            )
            for persona in self._service.agents.personas.values()
        ]

    def read(self, uri: AnyUrl) -> types.ReadResourceResult:
        """A persona as YAML.

        Raises:
            MistakeError: the address is none of a persona.
        """
        address = str(uri)
        if not address.startswith(_SCHEME):
            raise MistakeError(f"There is no resource {one_line(address, 80)!r}; resources/list shows all.")
        persona = persona_named(self._service, unquote(address.removeprefix(_SCHEME)))
        contents = types.TextResourceContents(uri=uri, mimeType=_TYPE, text=to_yaml(persona))
        return types.ReadResourceResult(contents=[contents])
