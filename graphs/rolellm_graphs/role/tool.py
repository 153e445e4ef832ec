"""A persona as a tool: another agent asks a character one thing."""

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
"""Characters that models' servers take in a tool's name."""
_DESCRIBED = 400
"""Characters of a persona's description that the asking model reads with each of its prompts."""


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
    """A tool that asks a persona one thing and gives the answer's words; the persona hears nothing else.

    For `langchain.agents.create_agent`, LangGraph's `ToolNode`, or any model that takes tools; sync and
    async.

    Args:
        persona: a persona, or its id, name or path.
        model: who plays it: any LangChain chat model, or a spec for `get_model`.
        strategy: a strategy or its name; the model's preferred strategy when None.
        user: what the persona calls whoever asks, for `{{user}}` in cards.
        lorebooks: of the world, beside the persona's own.
        recall: how passages are looked up; what suits the strategy when None.
        memories: of earlier conversations.
        name: the tool's; `ask_` with the persona's id when None.
        description: what the asking model is told of the tool; who the persona is when None.

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
    asked = chat.persona

    def ask(question: str) -> str:
        return chat.invoke([HumanMessage(question)]).text

    async def ask_async(question: str) -> str:
        return (await chat.ainvoke([HumanMessage(question)])).text

    return StructuredTool.from_function(
        func=ask,
        coroutine=ask_async,
        name=name or tool_name(asked.id),
        description=description or _description(asked),
        args_schema=_arguments(asked),
        tags=run_tags(asked, chat.strategy),
        metadata=run_metadata(asked, chat.strategy),
    )


def tool_name(persona_id: str) -> str:
    """A name for a persona's tool that every model's server takes: `ask_`, then letters, digits, hyphens.

    Args:
        persona_id: in any script; Chinese becomes pinyin. One that is too long is cut, with a digest of the
            whole behind it.
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
    told = Field(description=f"What is said to {persona.name}, who hears nothing else of the conversation.")
    return create_model("Question", question=Annotated[str, told])
