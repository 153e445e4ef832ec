"""The personas, scenes and models of a server, found by name and cached."""

import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from http import HTTPStatus
from threading import Lock
from typing import Any, Final

from langchain_core.language_models import BaseChatModel

from rolellm_agents.errors import SceneError, SettingsError
from rolellm_agents.models.server_details import ServerDetails
from rolellm_agents.persona import Persona, list_personas
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.scene import LoadedScene, list_scenes, load_scene, without_models
from rolellm_agents.text import did_you_mean, one_line
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.server.abilities import abilities_of, context_of, details_of
from rolellm_graphs.server.answers import Agent
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.names import AS_CARD, PLAIN, SCENE, AgentName, unknown_agent
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.persona_answers import persona_agent
from rolellm_graphs.server.plain_answers import card_agent, plain_agent
from rolellm_graphs.server.scene_answers import SceneAgent
from rolellm_graphs.server.scene_memory import SceneMemory
from rolellm_graphs.server.tool_use import ToolUse, tool_use_of
from rolellm_graphs.server.wire import ModelObject

_READY = 256
"""Maximum number of cached agents."""
_DESCRIBED = 200


_ALONE: Final = (
    (
        PLAIN,
        "Plain model",
        "The model itself, without a persona: for titles, tags and other tasks of programs.",
    ),
    (AS_CARD, "Character of the client", "The character that the client's system message describes."),
)


class Agents:
    """Personas and scenes as a server's clients see them.

    Personas and scenes are found among the listed names only, never by path, since names come from clients.
    """

    def __init__(self, options: ServerOptions, scenes: SceneMemory) -> None:
        """Create an empty cache; no model is loaded.

        Args:
            options: the server's options.
            scenes: lines of scenes that the messages of clients do not contain.

        Raises:
            SettingsError: the options offer a persona or scene that does not exist.
        """
        self._options = options
        self._since = int(time.time())
        self._memory = scenes
        self._models: dict[str, BaseChatModel] = {}
        self._details: dict[str, ServerDetails | None] = {}
        self._ready: OrderedDict[AgentName, Agent] = OrderedDict()
        self._lock = Lock()
        self._personas: dict[str, Persona] = {}
        self._scenes: dict[str, str] = {}
        self.reload()
        for name in options.offered:
            if name not in self.names:
                known = [*(found.persona.id for found in list_personas().found)]
                known += [f"{SCENE}{found.scene.id}" for found in list_scenes()[0]]
                raise SettingsError(
                    f"There is no persona or scene {one_line(name, 80)!r}{did_you_mean(name, known)}; "
                    "“rolellm persona list” and “rolellm scene list” show all."
                )

    @property
    def personas(self) -> Mapping[str, Persona]:
        """The offered personas by their ids."""
        return self._personas

    @property
    def scenes(self) -> Mapping[str, str]:
        """The titles of the offered scenes by their ids."""
        return self._scenes

    @property
    def names(self) -> list[str]:
        """The names of the offered personas and scenes."""
        return [*self._personas, *(f"{SCENE}{scene}" for scene in self._scenes)]

    def reload(self) -> None:
        """Reload the lists of personas and scenes, and rebuild edited personas."""
        personas = {one.persona.id: one.persona for one in list_personas().found}
        scenes = {one.scene.id: one.scene.title for one in list_scenes()[0]}
        if offered := self._options.offered:
            personas = {name: one for name, one in personas.items() if name in offered}
            scenes = {name: title for name, title in scenes.items() if f"{SCENE}{name}" in offered}
        with self._lock:
            if (personas, scenes) != (self._personas, self._scenes):
                self._personas, self._scenes = personas, scenes
                self._ready.clear()

    @property
    def cards(self) -> list[ModelObject]:
        """All names: personas, then scenes, then the models alone."""
        entries = [(persona.id, persona.name, persona.description) for persona in self._personas.values()]
        entries += [(f"{SCENE}{scene}", title, "A scene.") for scene, title in self._scenes.items()]
        default, *others = self._options.models
        cards = self._cards(default, [*entries, *_ALONE])
        for spec in others:
            alone = [(f"{name}@{spec}", f"{title} ({spec})", about) for name, title, about in _ALONE]
            cards += self._cards(spec, alone)
        return cards

    def card(self, name: AgentName) -> ModelObject:
        """The card of an agent, with the model that it would use."""
        base = f"{SCENE}{name.id}" if name.kind == "scene" else name.id
        named = f"{base}@{name.model}" if name.model and name.kind in (PLAIN, AS_CARD) else base
        found = next(card for card in self.cards if card.id in (named, base))
        facts = self._facts(name.model or self._options.models[0])
        return found.model_copy(update={"id": named, **facts})

    def _cards(self, spec: str, entries: Iterable[tuple[str, str, str]]) -> list[ModelObject]:
        """The cards of agents with the same model, by id, name and description."""
        facts = self._facts(spec)
        return [
            ModelObject(
                id=agent,
                created=self._since,
                name=one_line(name),
                description=one_line(description, _DESCRIBED),
                **facts,
            )
            for agent, name, description in entries
        ]

    def _facts(self, spec: str) -> dict[str, Any]:
        """What is known about a model, if it was used before; others are not created for a list."""
        with self._lock:
            model = self._models.get(spec)
        if model is None:
            return {}
        details = self._details[spec]
        tools = self._tools(spec, model)
        return {
            "context_length": context_of(model, details),
            "abilities": abilities_of(model, tools, details),
        }

    def _tools(self, spec: str, model: BaseChatModel) -> ToolUse:
        """Which requests' tools a model gets that was used before."""
        return tool_use_of(model, self._options.tools, self._details[spec])

    def model(self, spec: str | None = None) -> BaseChatModel:
        """The model of a spec that the server offers; its first when None.

        Raises:
            ModelError: the model cannot be used here.
        """
        name = spec or self._options.models[0]
        with self._lock:
            if name not in self._models:
                conversations = self._options.concurrent
                self._models[name] = self._options.make(name, conversations=conversations)
                self._details[name] = details_of(name)
            return self._models[name]

    def persona_named(self, name: str) -> str | None:
        """The id of the persona with a display name."""
        found = (persona.id for persona in self._personas.values() if persona.name == name)
        return next(found, None)

    def find(self, name: AgentName) -> Agent:
        """The agent of a name.

        Raises:
            ApiError: there is no such persona or scene.
            RoleLLMError: the agent cannot be built.
        """
        with self._lock:
            if name in self._ready:
                self._ready.move_to_end(name)
                return self._ready[name]
        agent = self._made(name)
        with self._lock:
            self._ready[name] = agent
            while len(self._ready) > _READY:
                self._ready.popitem(last=False)
        return agent

    def _made(self, name: AgentName) -> Agent:
        lists: dict[str, Collection[str]] = {"scene": self._scenes, "persona": self._personas}
        known = lists.get(name.kind)
        if known is not None and name.id not in known:
            self.reload()
        match name.kind:
            case "scene":
                return self._scene(name)
            case "persona":
                return self._persona(name)
            case kind:
                spec = name.model or self._options.models[0]
                model = self.model(spec)
                limits: Any = {"tools": self._tools(spec, model), "max_tokens": self._options.max_tokens}
                if kind == PLAIN:
                    return plain_agent(model, **limits)
                return card_agent(model, user=self._options.user, **limits)

    def _persona(self, name: AgentName) -> Agent:
        persona = self._personas.get(name.id)
        if persona is None:
            raise unknown_agent(name.id, self.names)
        spec = name.model or self._options.models[0]
        model = self.model(spec)
        return persona_agent(
            persona,
            model,
            strategy=name.strategy or self._options.strategy or default_strategy(spec),
            user=self._options.user,
            tools=self._tools(spec, model),
            max_tokens=self._options.max_tokens,
        )

    def _scene(self, name: AgentName) -> Agent:
        if name.id not in self._scenes:
            raise unknown_agent(f"{SCENE}{name.id}", [f"{SCENE}{scene}" for scene in self._scenes])
        ensemble = self._ensemble(load_scene(name.id), name)
        try:
            return SceneAgent(ensemble, self._memory, seat=name.seat, turns=self._options.scene_turns)
        except SceneError as error:
            raise ApiError(HTTPStatus.NOT_FOUND, str(error), param="model") from error

    def _ensemble(self, loaded: LoadedScene, name: AgentName) -> Ensemble:
        # The server's owner and the client choose the model; those in scenes' files never count here.
        model = self.model(name.model)
        return Ensemble(without_models(loaded), model=model, strategy=name.strategy)
