"""Records the prompts and answers of models, so that a scene can be replayed without the models."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypedDict
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import LangSmithParams
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, messages_to_dict
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult

from rolellm_agents.errors import ModelError
from rolellm_agents.models.threaded import ThreadedChatModel
from rolellm_graphs.chat.answer import hash_prompt


class Call(TypedDict):
    """One call of a chat model."""

    by: str
    """The graph's node that called the model: `speak`, `direct`, `remember` or `narrate`."""
    prompt: str
    """The hash of the prompt's messages."""
    text: str


class Tape(BaseCallbackHandler):
    """Records all model calls of one turn."""

    ignore_chain = True
    """LangChain does not report the runs of nodes and graphs."""
    run_inline = True  # otherwise LangChain calls the handler in a thread, about 100 times a turn

    def __init__(self) -> None:
        """Start with an empty tape."""
        self.calls: list[Call] = []
        """The finished calls, in the order of their ends."""
        self._begun: dict[UUID, tuple[str, str]] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Record the prompt."""
        by = str((metadata or {}).get("langgraph_node", ""))
        self._begun[run_id] = (by, hash_prompt(messages_to_dict(messages[0])))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Record the answer."""
        by, prompt = self._begun.pop(run_id, ("", ""))
        self.calls.append(Call(by=by, prompt=prompt, text=_words_of(response)))


def _words_of(response: LLMResult) -> str:
    """The answer's text, or the tool call's arguments if structured output is a tool call."""
    if not response.generations or not response.generations[0]:
        return ""
    said = response.generations[0][0]
    message = said.message if isinstance(said, ChatGeneration) else None
    if not said.text and isinstance(message, AIMessage) and message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    return said.text


class TapeChatModel(ThreadedChatModel):
    """A chat model that returns the recorded answers to the recorded prompts."""

    tape: dict[str, list[str]]
    """Answers by the prompt's hash, in recorded order; each is returned once."""
    temperature: float | None = None
    """0 for seats without retries, because the scene graph does not retry greedy models."""

    @classmethod
    def of(cls, calls: Iterable[Call]) -> "TapeChatModel":
        """Create the model from recorded calls."""
        tape: dict[str, list[str]] = {}
        for call in calls:
            tape.setdefault(call["prompt"], []).append(call["text"])
        return cls(tape=tape)

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        said = self.tape.get(hash_prompt(messages_to_dict(messages)))
        if not said:
            raise ModelError(
                "The tape has no answer to this prompt: the scene, a persona or the program has changed "
                "since it was recorded; replay it with --live instead."
            )
        yield ChatGenerationChunk(message=AIMessageChunk(content=said.pop(0), chunk_position="last"))

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = params["ls_model_name"] = "tape"
        return params

    @property
    def _llm_type(self) -> str:
        return "tape"
