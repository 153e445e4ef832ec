"""A persona as a tool of another agent."""

import hashlib
from collections.abc import Sequence
from typing import Annotated

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field, create_model

from rolellm_agents.cards import Lorebook
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.persona import Persona, id_of
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import Passage, RecallOptions
from rolellm_agents.text import one_line
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.tracing.tags import run_metadata, run_tags

_LONGEST_NAME = 64
"""The most characters that model servers accept in a tool's name."""
_DESCRIBED = 400
"""The most characters of a persona's description in the tool's description."""


def persona_tool(
    persona: Persona | str,
    *,
    model: BaseChatModel | str = DEFAULT_MODEL,
    strategy: str | Strategy | None = None,
    user: str = DEFAULT_USER,
    lorebooks: Sequence[Lorebook] = (),
    recall: RecallOptions | None = None,
    memories: Sequence[Passage] = (),
    name: str | None = None,
    description: str | None = None,
) -> BaseTool:
    """A tool that asks a persona one question and returns the answer's text, without further context.

    For `langchain.agents.create_agent`, LangGraph's `ToolNode`, or any model that takes tools; sync and
    async.

    Args:
        persona: a persona, or its id, name or path.
        model: any LangChain chat model, or a spec for `get_model`.
        strategy: a strategy or its name; the model's preferred strategy when None.
        user: the asking agent's display name, for `{{user}}` in cards.
        lorebooks: further lorebooks beside the persona's own.
        recall: how passages are looked up; the strategy's method when None.
        memories: passages of earlier conversations.
        name: the tool's name; `ask_` with the persona's id when None.
        description: the tool's description for the asking model; the persona's when None.

    Raises:
        PersonaError: there is no such persona, or its lorebook cannot be used.
        ModelError: there is no such model.
        SettingsError: there is no such strategy.
    """
    chat = RoleChatModel(
        persona,
        model=model,
        strategy=strategy,
        user=user,
        lorebooks=lorebooks,
        recall=recall,
        memories=memories,
    )
    found = chat.persona

    def ask(question: str) -> str:
        return chat.invoke([HumanMessage(question)]).text

    async def ask_async(question: str) -> str:
        return (await chat.ainvoke([HumanMessage(question)])).text

    return StructuredTool.from_function(
        func=ask,
        coroutine=ask_async,
        name=name or tool_name(found.id),
        description=description or _description(found),
        args_schema=_arguments(found),
        tags=run_tags(found, chat.strategy),
        metadata=run_metadata(found, chat.strategy),
    )


def tool_name(persona_id: str) -> str:
    """A tool name that every model server accepts: `ask_`, then letters, digits and hyphens.

    Args:
        persona_id: the id, in any script; Chinese is converted to pinyin. A long id is truncated and gets a
            digest of the complete id as a suffix.
    """
    wanted = f"ask_{id_of(persona_id)}"
    if len(wanted) <= _LONGEST_NAME:
        return wanted
    digest = hashlib.sha256(persona_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{wanted[: _LONGEST_NAME - 9]}-{digest}"


def _description(persona: Persona) -> str:
    about = one_line(persona.description, _DESCRIBED)
    return f"Ask {persona.name} one thing and get the answer in the character's own words. {about}"


def _arguments(persona: Persona) -> type[BaseModel]:
    field = Field(
        description=f"What is said to {persona.name}, who hears nothing else of the conversation."
    )
    return create_model("Question", question=Annotated[str, field])
