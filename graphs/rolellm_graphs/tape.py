"""What models were asked and what they said, so that a scene can be played again without them."""

from typing import Any, TypedDict
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, messages_to_dict
from langchain_core.outputs import LLMResult

from rolellm_graphs.answer import hash_prompt


class Call(TypedDict):
    """One call of a chat model."""

    by: str
    """The graph's node that asked: `speak`, `direct`, `remember`, `narrate`."""
    prompt: str
    """A hash of the very messages."""
    text: str


class Tape(BaseCallbackHandler):
    """Listens to the models of one turn."""

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
        text = response.generations[0][0].text if response.generations else ""
        self.calls.append(Call(by=by, prompt=prompt, text=text))
