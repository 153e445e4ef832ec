"""What models were asked and what they said, so that a scene can be played again without them."""

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
    """The graph's node that asked: `speak`, `direct`, `remember`, `narrate`."""
    prompt: str
    """A hash of the very messages."""
    text: str


class Tape(BaseCallbackHandler):
    """Listens to the models of one turn."""

    ignore_chain = True
    """Nodes and graphs are of no interest."""
    run_inline = True  # else each event is handed to a thread and back, a hundred times a turn

    def __init__(self) -> None:
        """Hear nothing yet."""
        self.calls: list[Call] = []
        """In the order in which they ended."""
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
        """Note the prompt."""
        by = str((metadata or {}).get("langgraph_node", ""))
        self._begun[run_id] = (by, hash_prompt(messages_to_dict(messages[0])))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Note the answer."""
        by, prompt = self._begun.pop(run_id, ("", ""))
        self.calls.append(Call(by=by, prompt=prompt, text=_words_of(response)))


def _words_of(response: LLMResult) -> str:
    """What was said, or, where a form was taken for a tool, what the tool was to be given."""
    if not response.generations or not response.generations[0]:
        return ""
    said = response.generations[0][0]
    message = said.message if isinstance(said, ChatGeneration) else None
    if not said.text and isinstance(message, AIMessage) and message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    return said.text


class TapeChatModel(ThreadedChatModel):
    """Says again what was said to the very same prompts."""

    tape: dict[str, list[str]]
    """Answers by their prompts' hashes, in the order in which they came; each is given once."""
    temperature: float | None = None
    """0 for who always took the likeliest word, and so was never asked to say something again."""

    @classmethod
    def of(cls, calls: Iterable[Call]) -> "TapeChatModel":
        """A model that says what was recorded."""
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
