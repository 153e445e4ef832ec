"""A streamed answer as the events of OpenAI's Responses API."""

from collections.abc import Iterator, Mapping
from typing import Any

from rolellm_graphs.server.answers import AnswerChunk, AnswerPart, CallChunk, whole_answer
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.response_wire import ResponseRequest, item_id, response_object
from rolellm_graphs.server.tool_wire import CalledFunction, ToolCall


class ResponseEvents:
    """Converts the parts of one answer to events. An item ends when the next one begins."""

    def __init__(self, head: Mapping[str, Any], request: ResponseRequest) -> None:
        """Begin an answer with this head (id and time of creation)."""
        self._head = head
        self._request = request
        self._parts: list[AnswerPart] = []
        self._sent = 0
        self._items: list[dict[str, Any]] = []
        self._call = -1
        """The number of the call that is being sent; -1 outside of calls."""

    def of(self, part: AnswerPart) -> Iterator[dict[str, Any]]:
        """The events of the next part."""
        if not self._parts:
            begun = response_object(self._head, self._request, None)
            yield self._event("response.created", response=begun)
            yield self._event("response.in_progress", response=begun)
        self._parts.append(part)
        if isinstance(part, AnswerChunk):
            if not part.is_reasoning:
                yield from self._text(part.text)
        elif isinstance(part, CallChunk):
            yield from self._piece(part)
        else:
            if not self._items:
                yield from self._text("")
            yield from self._ended_item()
            whole = response_object(self._head, self._request, whole_answer(self._parts))
            yield self._event(f"response.{whole['status']}", response={**whole, "output": self._items})

    def failed(self, error: ApiError) -> dict[str, Any]:
        """The event of an answer that failed after it had begun."""
        told = error.body["error"]
        return {
            **self._event("error", **{key: told[key] for key in ("code", "message", "param")}),
            **error.body,
        }

    def _text(self, text: str) -> Iterator[dict[str, Any]]:
        if not self._items or self._items[-1]["type"] != "message":
            yield from self._ended_item()
            part = {"type": "output_text", "text": "", "annotations": []}
            message = {"type": "message", "role": "assistant", "status": "in_progress", "content": []}
            yield self._begun_item("msg", message)
            self._items[-1]["content"] = [part]
            yield self._event(
                "response.content_part.added", **self._place, content_index=0, part=part.copy()
            )
        self._items[-1]["content"][0]["text"] += text
        yield self._event(
            "response.output_text.delta", **self._place, content_index=0, delta=text, logprobs=[]
        )

    def _piece(self, part: CallChunk) -> Iterator[dict[str, Any]]:
        if part.number != self._call:
            yield from self._ended_item()
            self._call = part.number
            call = ToolCall(id=part.id or "", function=CalledFunction(name=part.name or ""))
            named = {"call_id": call.id, "name": call.function.name, "arguments": ""}
            yield self._begun_item("fc", {"type": "function_call", "status": "in_progress", **named})
        self._items[-1]["arguments"] += part.arguments
        yield self._event("response.function_call_arguments.delta", **self._place, delta=part.arguments)

    def _begun_item(self, kind: str, item: dict[str, Any]) -> dict[str, Any]:
        place = len(self._items)
        self._items.append({"id": item_id(kind, self._head["id"], place), **item})
        return self._event("response.output_item.added", output_index=place, item=dict(self._items[-1]))

    def _ended_item(self) -> Iterator[dict[str, Any]]:
        if not self._items:
            return
        item = self._items[-1]
        item["status"] = "completed"
        if item["type"] == "message":
            (part,) = item["content"]
            text = part["text"]
            yield self._event(
                "response.output_text.done", **self._place, content_index=0, text=text, logprobs=[]
            )
            yield self._event("response.content_part.done", **self._place, content_index=0, part=part)
        else:
            named = {"name": item["name"], "arguments": item["arguments"]}
            yield self._event("response.function_call_arguments.done", **self._place, **named)
        yield self._event("response.output_item.done", output_index=len(self._items) - 1, item=item)

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1}

    def _event(self, kind: str, **fields: Any) -> dict[str, Any]:
        self._sent += 1
        return {"type": kind, "sequence_number": self._sent - 1, **fields}
