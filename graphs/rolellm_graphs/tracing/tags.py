"""What traces show of a persona: who answered, by which strategy and model, and what came to mind.

LangChain's own tracers (LangSmith and those that are like it) show the tags and metadata that are made
here. For OpenTelemetry there is `opentelemetry_handler`, which does nothing until it is asked for.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables.config import (
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
)

from rolellm_agents.errors import SettingsError
from rolellm_agents.persona import Persona
from rolellm_agents.recall import RecalledItem

RECALLED = "recalled"
"""The name of a run that tells what came to a persona's mind; and the key of it in `response_metadata`."""


def run_tags(persona: Persona, strategy: str | None = None) -> list[str]:
    """Tags of a persona's runs, such as `persona:ada` and `strategy:system`.

    Args:
        persona: whose runs.
        strategy: how it reaches the model; None for what has none.
    """
    return [f"persona:{persona.id}", *([f"strategy:{strategy}"] if strategy else [])]


def run_metadata(persona: Persona, strategy: str | None = None, model: str | None = None) -> dict[str, str]:
    """Metadata of a persona's runs: `persona` (the id), `persona_name`, `strategy` and `model`.

    Args:
        persona: whose runs.
        strategy: how it reaches the model; None for what has none.
        model: the spec of the model; None for what has none.
    """
    told = {"persona": persona.id, "persona_name": persona.name, "strategy": strategy, "model": model}
    return {key: value for key, value in told.items() if value is not None}


def recalled_documents(persona: Persona, recalled: Sequence[RecalledItem]) -> list[Document]:
    """What came to a persona's mind as documents, as tracers show what was retrieved.

    Args:
        persona: with its macros filled.
        recalled: what was looked up for a line.
    """
    return list(_documents(persona, recalled))


def tell_recalled(persona: Persona, line: str, recalled: Sequence[RecalledItem]) -> None:
    """Tell the tracers of the run that goes on what came to mind, as a retriever's run within it.

    Args:
        persona: with its macros filled.
        line: for which it was looked up.
        recalled: what was found; nothing is told of nothing.
    """
    if recalled:
        manager = get_callback_manager_for_config(ensure_config())
        run = manager.on_retriever_start(None, line, name=RECALLED)
        run.on_retriever_end(recalled_documents(persona, recalled))


async def tell_recalled_async(persona: Persona, line: str, recalled: Sequence[RecalledItem]) -> None:
    """The same for async callers."""
    if recalled:
        manager = get_async_callback_manager_for_config(ensure_config())
        run = await manager.on_retriever_start(None, line, name=RECALLED)
        await run.on_retriever_end(recalled_documents(persona, recalled))


def opentelemetry_handler(
    *, content: bool | None = None, tracer_provider: Any = None
) -> BaseCallbackHandler:
    """A LangChain callback handler that makes OpenTelemetry spans by the GenAI semantic conventions.

    It is put among the `callbacks` of a call or of a model: a role graph's turn is an `invoke_agent` span,
    a model's call a `chat` span, a retriever's a `retrieval` span, a tool's an `execute_tool` span. Where a
    persona answers, `gen_ai.agent.id` and `gen_ai.agent.name` are the persona's.

    Args:
        content: whether spans hold what was said and recalled; None asks the environment variable
            `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, and without it they do not.
        tracer_provider: OpenTelemetry's; the global one when None.

    Raises:
        SettingsError: OpenTelemetry is not installed.
    """
    try:
        from rolellm_graphs.tracing.otel import OpenTelemetryHandler
    except ImportError as error:
        raise SettingsError(
            "OpenTelemetry tracing needs the extra otel: pip install 'rolellm-agents[otel]'."
        ) from error
    return OpenTelemetryHandler(content=content, tracer_provider=tracer_provider)


def _documents(persona: Persona, recalled: Sequence[RecalledItem]) -> Iterator[Document]:
    for item in recalled:
        told: dict[str, Any] = {"persona": persona.id, "why": item["why"]}
        if item["kind"] == "demonstration":
            pair = persona.demonstrations[item["index"]]
            told |= {
                "kind": "demonstration",
                "title": pair.user,
                "place": pair.place,
                "score": item["score"],
            }
            yield Document(f"{pair.user}\n{pair.reply}", metadata=told)
        elif item["kind"] == "passage":
            told |= {"kind": item["of"], "title": item["source"], "place": "", "score": item["score"]}
            yield Document(item["text"], metadata=told)
        else:
            told |= {"kind": "lore", "title": item["name"], "place": item["book"]}
            yield Document(item["text"], metadata=told)
