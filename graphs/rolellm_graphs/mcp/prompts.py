"""The prompts: each persona's instruction, for the client's own model."""

from collections.abc import Mapping

from langchain_core.messages import SystemMessage
from mcp import types

from rolellm_agents.persona import Persona
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.text import did_you_mean, one_line
from rolellm_graphs.mcp.mistakes import MistakeError
from rolellm_graphs.server.service import Service

_ABOUT = 200
_SHOWN = 80
_ARGUMENTS = [
    types.PromptArgument(name="message", description="What is said to the character.", required=True),
    types.PromptArgument(name="user", description="The name by which the character calls you."),
]


class PersonaPrompts:
    """The prompts of a server."""

    def __init__(self, service: Service) -> None:
        """Create the prompts over a service."""
        self._service = service

    def list(self) -> list[types.Prompt]:
        """One prompt for each persona, named after its id."""
        self._service.agents.reload()
        return [
            types.Prompt(
                name=persona.id,
                title=persona.name,
                description=one_line(persona.description, _ABOUT),
                arguments=_ARGUMENTS,
            )
            for persona in self._service.agents.personas.values()
        ]

    def get(self, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
        """A persona's instruction and the user's message.

        MCP's prompts have no system messages, so that the instruction is the first message of the user.

        Raises:
            MistakeError: there is no such persona, or the message is missing.
            PersonaError: the persona's lorebook cannot be used.
        """
        persona = persona_named(self._service, name)
        message = arguments.get("message", "").strip()
        if not message:
            raise MistakeError("The argument 'message' is missing; say something to the character.")
        user = arguments.get("user", "").strip() or self._service.options.user
        composed = Prompting(persona, "system", user=user).compose([], [], message)
        return types.GetPromptResult(
            description=f"Answer as {persona.name}.",
            messages=[
                types.PromptMessage(
                    role="assistant" if one.type == "ai" else "user",
                    content=types.TextContent(type="text", text=one.text),
                )
                for one in sorted(composed, key=lambda one: not isinstance(one, SystemMessage))
            ],
        )


def persona_named(service: Service, name: str) -> Persona:
    """The offered persona with an id.

    Raises:
        MistakeError: there is none.
    """
    personas = service.agents.personas
    if name not in personas:
        service.agents.reload()
        personas = service.agents.personas
    if name not in personas:
        raise MistakeError(
            f"There is no character {one_line(name, _SHOWN)!r}{did_you_mean(name, personas)}; "
            "list_characters shows all."
        )
    return personas[name]
