"""Chat templates of model files, rendered in a sandbox because files are untrusted."""

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from jinja2 import TemplateError, meta, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.jinja.environment import BoundedEnvironment
from rolellm_agents.models.llamacpp.jinja.meter import bounded
from rolellm_agents.models.reasoning import ReasoningMarks, marks_in
from rolellm_agents.text import one_line

Turn = dict[str, Any]
"""`{"role": …, "content": …}`, the message format of chat templates; calls of tools are in `tool_calls`."""
CALL_STARTS, CALL_ENDS = "<tool_call>", "</tool_call>"
"""The marks of a call in the templates of Hermes, Qwen and SmolLM."""

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content']"
    " + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{% endif %}"
)
"""For files without a template whose vocabulary has its control tokens."""

GEMMA = (
    "{{ bos_token }}{% set about = '' %}{% set said = messages %}"
    "{% if messages[0]['role'] == 'system' %}"
    "{% set about = messages[0]['content'] + '\\n\\n' %}{% set said = messages[1:] %}{% endif %}"
    "{% if not said %}{{ raise_exception('Somebody must speak.') }}{% endif %}"
    "{% for message in said %}"
    "{% if message['role'] != ('user' if loop.index0 % 2 == 0 else 'assistant') %}"
    "{{ raise_exception('User and assistant must alternate.') }}{% endif %}"
    "{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else 'user') + '\\n' }}"
    "{{ about if loop.first else '' }}{{ message['content'] | trim }}{{ '<end_of_turn>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"
)
"""The format of Gemma's instruction-tuned models (ai.google.dev/gemma/docs/core/prompt-structure).

Used for the base models, whose vocabulary has the control tokens but whose files have no template. Gemma
has no system role, so the instruction precedes the first question.
"""

VICUNA = (
    "{% for message in messages %}"
    "{% if message['role'] == 'system' %}{{ message['content'] + '\\n\\n' }}"
    "{% elif message['role'] == 'user' %}{{ 'USER: ' + message['content'] + '\\n' }}"
    "{% else %}{{ 'ASSISTANT: ' + message['content'] + eos_token + '\\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
"""For base models without control tokens, such as LLaMA: Vicuna's format in llama.cpp, ended by EOS."""

TEMPLATES: Mapping[str, str] = MappingProxyType({"chatml": CHATML, "gemma": GEMMA, "vicuna": VICUNA})
"""Templates by the names that training recipes use."""
_GEMMAS_MARKS = ("<start_of_turn>", "<end_of_turn>")
_CHATMLS_MARKS = ("<|im_start|>", "<|im_end|>")

_MOST_PATTERN = 1_000
_ROLES = {"system": "system", "human": "user", "ai": "assistant"}


def turns_of(messages: Sequence[BaseMessage], *, takes_tools: bool = False) -> list[Turn]:
    """LangChain messages as a template's turns; other roles than system and assistant become the user.

    Args:
        messages: a conversation.
        takes_tools: whether the template writes calls of tools and their results; if not, they become text.
    """
    return [_turn_of(message, takes_tools) for message in messages]


def _turn_of(message: BaseMessage, takes_tools: bool) -> Turn:
    turn: Turn = {"role": _ROLES.get(message.type, "user"), "content": message.text}
    if isinstance(message, ToolMessage):
        if not takes_tools:
            return {**turn, "content": f"<tool_response>\n{message.text}\n</tool_response>"}
        called = {"name": message.name or "", "tool_call_id": message.tool_call_id}
        return {**turn, "role": "tool", **called}
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = [{"name": call["name"], "arguments": call["args"]} for call in message.tool_calls]
        if takes_tools:
            return {**turn, "tool_calls": [{"type": "function", "function": call} for call in calls]}
        return {**turn, "content": "\n".join(filter(None, [message.text, *map(_written_call, calls)]))}
    return turn


def usual_template(is_mark: Callable[[str], bool]) -> str:
    """The template for a model whose file has none: one whose control tokens the vocabulary has.

    Args:
        is_mark: whether a text is a control token of the vocabulary.
    """
    if all(map(is_mark, _GEMMAS_MARKS)):
        return GEMMA
    return CHATML if all(map(is_mark, _CHATMLS_MARKS)) else VICUNA


class _GenerationBlock(Extension):
    """`{% generation %}`, with which newer templates mark answers for training; it writes its content."""

    tags: set[str] = {"generation"}  # noqa: RUF012  # Jinja's attribute

    def parse(self, parser: Parser) -> nodes.Node:
        """Parse a block into its content."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_write"), [], [], body).set_lineno(line)

    def _write(self, caller: Callable[[], str]) -> str:
        return caller()


class ChatTemplate:
    """One compiled template."""

    def __init__(self, source: str, *, bos: str, eos: str) -> None:
        """Compile `source`.

        Raises:
            ModelError: `source` is not a Jinja template.
        """
        self.source = source
        environment = BoundedEnvironment(extensions=["jinja2.ext.loopcontrols", _GenerationBlock])
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = _strftime_now
        environment.add_filter("tojson", _to_json)
        self._special = {"bos_token": bos, "eos_token": eos}
        self.reasoning = marks_in(source)
        """The marks of the model's reasoning; None for a model that does not reason."""
        try:
            tree = environment.parse_bounded(source)
            mentioned = meta.find_undeclared_variables(tree)
            self._template = environment.compile_bounded(tree)
        except TemplateError as error:
            raise ModelError(
                f"The model's chat template cannot be read: {one_line(str(error), 300)}."
            ) from error
        self.takes_tools = CALL_STARTS in source and "tools" in mentioned
        """Whether the template describes tools, and writes calls in the form that `tools.py` reads."""

    def render(
        self,
        turns: Sequence[Turn],
        *,
        answer_follows: bool = True,
        thinking: bool = False,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        """The prompt for `turns`, with a generation prompt if the answer follows.

        Some templates have no system role, or require that user and assistant alternate; for these the
        turns are merged by `fold`.

        Args:
            turns: the conversation.
            answer_follows: add what begins an answer.
            thinking: begin with reasoning, for a model that reasons; else with the answer itself.
            tools: tools in OpenAI's format, for a template that takes them.

        Raises:
            ModelError: the template rejects the merged turns, too.
        """
        try:
            text = self._render(turns, answer_follows, thinking, tools)
        except TemplateError:
            try:
                text = self._render(fold(turns), answer_follows, thinking, tools)
            except TemplateError as error:
                raise ModelError(
                    f"The model's chat template refuses this conversation: {one_line(str(error), 300)}."
                ) from error
        return text + _beginning(text, self.reasoning, thinking) if answer_follows else text

    def _render(
        self,
        turns: Sequence[Turn],
        answer_follows: bool,
        thinking: bool,
        tools: Sequence[Mapping[str, Any]],
    ) -> str:
        messages, described = list(turns), list(tools)
        with bounded(messages, described):
            return str(
                self._template.render(
                    **({"tools": described} if tools else {}),
                    messages=messages,
                    add_generation_prompt=answer_follows,
                    # The names of Qwen, GLM and SmolLM3, of DeepSeek and Granite, and of gpt-oss.
                    enable_thinking=thinking,
                    thinking=thinking,
                    reasoning_effort="medium" if thinking else "low",
                    **self._special,
                )
            )


def _beginning(prompt: str, marks: ReasoningMarks | None, thinking: bool) -> str:
    """What a rendered prompt lacks to begin with the reasoning, or with the answer."""
    if marks is None:
        return ""
    is_open = prompt.rstrip().endswith(marks.opens)
    if thinking:
        return "" if is_open else marks.opens + marks.space
    # An empty reasoning, as the templates of models with a switch write it.
    return f"\n{marks.closes}\n\n" if is_open else marks.answers


def _without_calls(turn: Turn) -> Turn:
    """The turn with calls of tools as text, because merged turns have nothing but text."""
    calls = [call["function"] for call in turn.get("tool_calls") or ()]
    return {**turn, "content": "\n".join(filter(None, [turn["content"], *map(_written_call, calls)]))}


def _written_call(call: Mapping[str, Any]) -> str:
    return f"{CALL_STARTS}\n{_to_json(call)}\n{CALL_ENDS}"


def fold(turns: Sequence[Turn]) -> list[Turn]:
    """Merge turns so that user and assistant alternate, the user first; system turns become user turns."""
    folded: list[Turn] = []
    for turn in map(_without_calls, turns):
        role = "assistant" if turn["role"] == "assistant" else "user"
        if not folded and role == "assistant":
            folded.append({"role": "user", "content": "…"})
        if folded and folded[-1]["role"] == role:
            folded[-1] = {"role": role, "content": f"{folded[-1]['content']}\n\n{turn['content']}"}
        else:
            folded.append({"role": role, "content": turn["content"]})
    return folded


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(pattern: str) -> str:
    # The C library writes up to 256 times as much.
    if len(pattern) > _MOST_PATTERN:
        raise TemplateError(f"it writes the date with a pattern of more than {_MOST_PATTERN} characters")
    return datetime.datetime.now().astimezone().strftime(pattern)


def _to_json(value: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
