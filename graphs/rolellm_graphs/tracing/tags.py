"""Tags, metadata and recalled items of a persona's runs for tracing tools.

LangChain's tracers, such as LangSmith, show these tags and metadata. For OpenTelemetry use
`opentelemetry_handler`.
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
from rolellm_agents.recall import Passage, RecalledItem
from rolellm_agents.recall.passages import Kind
from rolellm_agents.text import one_line

_SHOWN = 60
"""The most characters of a title, which may be a user's whole line, or of a place."""
RECALLED = "recalled"
"""The name of the run that reports recalled items, and their key in `response_metadata`."""


def run_tags(persona: Persona, strategy: str | None = None) -> list[str]:
    """Tags of a persona's runs, such as `persona:ada` and `strategy:system`.

    The strategy is None for runs without one.
    """
    return [f"persona:{persona.id}", *([f"strategy:{strategy}"] if strategy else [])]


def run_metadata(persona: Persona, strategy: str | None = None, model: str | None = None) -> dict[str, str]:
    """Metadata of a persona's runs: `persona` (the id), `persona_name`, `strategy` and `model`.

    Strategy and model are None for runs without them.
    """
    metadata = {"persona": persona.id, "persona_name": persona.name, "strategy": strategy, "model": model}
    return {key: value for key, value in metadata.items() if value is not None}


def recalled_documents(persona: Persona, recalled: Sequence[RecalledItem]) -> list[Document]:
    """Recalled items as documents, which is how tracers show retrieved items.

    The persona's macros are replaced.
    """
    return list(_documents(persona, recalled))


def recalled_sources(persona: Persona, recalled: Sequence[RecalledItem]) -> list[dict[str, Any]]:
    """Where recalled items come from, for an answer's `response_metadata`, without their texts.

    An answer is stored again with each checkpoint, so the texts would be copied many times. The `id` is
    that of the document which `PersonaRetriever` finds.
    """
    return [
        {
            "id": document.id,
            "kind": document.metadata["kind"],
            "source": _source(document),
            "why": document.metadata["why"],
        }
        for document in _documents(persona, recalled)
    ]


def trace_recalled(persona: Persona, line: str, recalled: Sequence[RecalledItem]) -> None:
    """Report recalled items to the tracers of the current run, as the child run of a retriever.

    The persona's macros are replaced. Without items there is no child run.
    """
    if recalled:
        manager = get_callback_manager_for_config(ensure_config())
        run = manager.on_retriever_start(None, line, name=RECALLED)
        run.on_retriever_end(recalled_documents(persona, recalled))


async def trace_recalled_async(persona: Persona, line: str, recalled: Sequence[RecalledItem]) -> None:
    """The same for async callers."""
    if recalled:
        manager = get_async_callback_manager_for_config(ensure_config())
        run = await manager.on_retriever_start(None, line, name=RECALLED)
        await run.on_retriever_end(recalled_documents(persona, recalled))


def opentelemetry_handler(
    *, content: bool | None = None, tracer_provider: Any = None
) -> BaseCallbackHandler:
    """A LangChain callback handler that creates OpenTelemetry spans by the GenAI semantic conventions.

    Add it to the `callbacks` of a call or of a model. A turn of a role graph becomes an `invoke_agent`
    span, a model call a `chat` span, a retrieval a `retrieval` span, and a tool call an `execute_tool`
    span. The attributes `gen_ai.agent.id` and `gen_ai.agent.name` are those of the answering persona.

    Args:
        content: whether spans contain messages and recalled items; None reads the environment variable
            `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, which is off by default.
        tracer_provider: OpenTelemetry's tracer provider; defaults to the global one.

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
        metadata: dict[str, Any] = {"persona": persona.id, "why": item["why"]}
        if item["kind"] == "demonstration":
            pair = persona.demonstrations[item["index"]]
            metadata |= {
                "kind": "demonstration",
                "title": pair.user,
                "place": pair.place,
                "score": item["score"],
            }
            yield _document("demonstration", f"{pair.user}\n{pair.reply}", metadata)
        elif item["kind"] == "passage":
            metadata |= {"kind": item["of"], "title": item["source"], "place": "", "score": item["score"]}
            yield _document(item["of"], item["text"], metadata)
        else:
            metadata |= {"kind": "lore", "title": item["name"], "place": item["book"]}
            yield _document("lore", item["text"], metadata)


def _document(kind: Kind, text: str, metadata: dict[str, Any]) -> Document:
    return Document(text, id=Passage(kind, text, "").id, metadata=metadata)


def _source(document: Document) -> str:
    """The title and the place, in a few words."""
    parts = (document.metadata["title"], document.metadata["place"])
    return ", ".join(one_line(part, _SHOWN) for part in parts if part)
