"""The tools: characters to talk with, and scenes to play."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from mcp import types
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rolellm_agents.scene import load_scene
from rolellm_agents.text import did_you_mean, one_line
from rolellm_graphs.mcp.arguments import (
    Entries,
    Entry,
    ListArguments,
    PlayArguments,
    ScenePlayed,
    TalkArguments,
    Talked,
    TurnArguments,
)
from rolellm_graphs.mcp.mistakes import MistakeError
from rolellm_graphs.mcp.prompts import persona_named
from rolellm_graphs.server.answers import AnswerChunk, WholeAnswer, whole_answer
from rolellm_graphs.server.conversations import Conversations
from rolellm_graphs.server.names import AgentName
from rolellm_graphs.server.service import Service

_ABOUT: Final = 200
_SHOWN: Final = 80

Progress = Callable[[float, str], Awaitable[None]]
"""Told how many characters of the answer exist, and its last words."""


@dataclass(frozen=True)
class McpCall:
    """A call of a tool."""

    client: Hashable
    arguments: Any
    progress: Progress


@dataclass(frozen=True)
class _Tool:
    about: str
    arguments: type[BaseModel]
    result: type[BaseModel]
    run: Callable[[McpCall], Awaitable[tuple[str, BaseModel]]]
    """Returns the text for models, and the same as data for programs."""
    only_reads: bool


class Tools:
    """The tools of a server."""

    def __init__(self, service: Service) -> None:
        """Create the tools over a service."""
        self._service = service
        self._conversations = Conversations(service)
        self._tools: Mapping[str, _Tool] = {
            "list_characters": _Tool(
                "List the characters that talk_with knows.", ListArguments, Entries, self._characters, True
            ),
            "talk_with": _Tool(
                "Say something to a character, and get the answer in the character's own words. The "
                "character hears only your messages, and remembers those of the same conversation.",
                TalkArguments,
                Talked,
                self._talk,
                False,
            ),
            "list_scenes": _Tool(
                "List the scenes that play_scene knows.", ListArguments, Entries, self._scenes, True
            ),
            "play_scene": _Tool(
                "Begin a scene in which several characters talk, and take one of its seats. Returns what "
                "your seat witnesses until it is your turn.",
                PlayArguments,
                ScenePlayed,
                self._play,
                False,
            ),
            "scene_turn": _Tool(
                "Say your seat's next line in a scene, and get what your seat witnesses after it.",
                TurnArguments,
                ScenePlayed,
                self._turn,
                False,
            ),
        }

    def list(self) -> list[types.Tool]:
        """The tools as clients see them."""
        return [
            types.Tool(
                name=name,
                description=tool.about,
                inputSchema=tool.arguments.model_json_schema(),
                outputSchema=tool.result.model_json_schema(),
                annotations=types.ToolAnnotations(
                    readOnlyHint=tool.only_reads, destructiveHint=False, openWorldHint=False
                ),
            )
            for name, tool in self._tools.items()
        ]

    async def call(
        self, name: str, arguments: Mapping[str, Any], client: Hashable, progress: Progress
    ) -> types.CallToolResult:
        """Call a tool.

        Args:
            name: the tool.
            arguments: the client's arguments.
            client: identifies the client, who alone can continue its conversations.
            progress: told while an answer grows.

        Raises:
            MistakeError: there is no such tool, or an argument is wrong.
            ApiError: the call cannot be answered.
            RoleLLMError: the call cannot be answered.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise MistakeError(
                f"There is no tool {one_line(name, _SHOWN)!r}{did_you_mean(name, self._tools)}; "
                f"the tools are {', '.join(self._tools)}."
            )
        text, result = await tool.run(McpCall(client, _checked(tool.arguments, arguments), progress))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)],
            structuredContent=result.model_dump(mode="json"),
        )

    async def _characters(self, call: McpCall) -> tuple[str, BaseModel]:
        await asyncio.to_thread(self._service.agents.reload)
        personas = self._service.agents.personas.values()
        entries = [
            Entry(id=one.id, name=one.name, about=one_line(one.description, _ABOUT)) for one in personas
        ]
        return _listed(entries, call.arguments.search)

    async def _scenes(self, call: McpCall) -> tuple[str, BaseModel]:
        entries = await asyncio.to_thread(_scene_entries, self._service)
        return _listed(entries, call.arguments.search)

    async def _talk(self, call: McpCall) -> tuple[str, BaseModel]:
        asked: TalkArguments = call.arguments
        name = await asyncio.to_thread(self._character, asked.character)
        if asked.conversation is not None:
            self._conversations.find(call.client, asked.conversation)
        conversation = self._conversations.begin(call.client, name, asked.conversation)
        answer = (await self._answer(call, conversation, asked.message)).text
        text = f"{answer}\n\n(conversation: {conversation})"
        return text, Talked(answer=answer, conversation=conversation)

    async def _play(self, call: McpCall) -> tuple[str, BaseModel]:
        asked: PlayArguments = call.arguments
        name = await asyncio.to_thread(self._scene, asked.scene, asked.seat)
        conversation = self._conversations.begin(call.client, name)
        return await self._played(call, conversation, None)

    async def _turn(self, call: McpCall) -> tuple[str, BaseModel]:
        asked: TurnArguments = call.arguments
        if self._conversations.find(call.client, asked.conversation).name.kind != "scene":
            raise MistakeError("This conversation is not a scene; continue it with talk_with.")
        return await self._played(call, asked.conversation, asked.line)

    async def _played(self, call: McpCall, conversation: str, line: str | None) -> tuple[str, BaseModel]:
        answer = await self._answer(call, conversation, line)
        scene = answer.end.scene
        assert scene is not None, "scenes return what was played"  # noqa: S101
        over = f"\n\n(The scene is over: {scene.ended})" if scene.ended else ""
        text = f"{answer.text}{over}\n\n(conversation: {conversation}; you are {scene.seat})"
        return text, ScenePlayed(
            lines=scene.messages, seat=scene.seat, conversation=conversation, ended=scene.ended
        )

    async def _answer(self, call: McpCall, conversation: str, text: str | None) -> WholeAnswer:
        parts, said = [], ""
        async with aclosing(self._conversations.answer(call.client, conversation, text)) as answer:
            async for part in answer:
                parts.append(part)
                if isinstance(part, AnswerChunk) and not part.is_reasoning:
                    said += part.text
                    await call.progress(len(said), one_line(said[-_ABOUT:]))
        return whole_answer(parts)

    def _character(self, character: str) -> AgentName:
        persona_named(self._service, character)
        return AgentName(character, "persona", None, None, None)

    def _scene(self, scene: str, seat: str | None) -> AgentName:
        agents = self._service.agents
        if scene not in agents.scenes:
            agents.reload()
        if scene not in agents.scenes:
            suggestion = did_you_mean(scene, agents.scenes)
            raise MistakeError(
                f"There is no scene {one_line(scene, _SHOWN)!r}{suggestion}; list_scenes shows all."
            )
        return AgentName(scene, "scene", None, None, seat)


def _scene_entries(service: Service) -> list[Entry]:
    service.agents.reload()
    return [
        Entry(id=scene, name=title, about=one_line(load_scene(scene).scene.setting, _ABOUT))
        for scene, title in service.agents.scenes.items()
    ]


def _checked(model: type[BaseModel], arguments: Mapping[str, Any]) -> BaseModel:
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        raise MistakeError(" ".join(_mistake(one, model) for one in error.errors())) from error


def _mistake(error: ErrorDetails, model: type[BaseModel]) -> str:
    name = ".".join(str(part) for part in error["loc"])
    field = repr(one_line(name, _SHOWN))
    if error["type"] == "missing":
        return f"The argument {field} is missing."
    if error["type"] == "extra_forbidden":
        return f"There is no argument {field}{did_you_mean(name, model.model_fields)}."
    return f"The argument {field} is wrong: {one_line(error['msg'], _ABOUT)}."


def _listed(entries: list[Entry], search: str) -> tuple[str, BaseModel]:
    wanted = search.casefold()
    found = [one for one in entries if wanted in f"{one.id}\n{one.name}\n{one.about}".casefold()]
    lines = [f"{one.id}: {one.name}. {one.about}" for one in found]
    return "\n".join(lines) or "Nothing matches this search.", Entries(entries=found)
