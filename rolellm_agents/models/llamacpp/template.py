"""A model's own chat template, from its file, rendered in a sandbox: the file may come from anyone."""

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from langchain_core.messages import BaseMessage

from rolellm_agents.errors import ModelError

Turn = dict[str, str]
"""`{"role": …, "content": …}`, as chat templates want it."""

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content']"
    " + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{% endif %}"
)
"""What llama.cpp, too, falls back to when a file brings no template."""

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
"""Gemma's turns as its tuned models have them (ai.google.dev/gemma/docs/core/prompt-structure).

It is for the base models, whose vocabulary has the marks but whose files bring no template. It knows no
system role: the instruction stands before the first question.
"""

TEMPLATES: Mapping[str, str] = MappingProxyType({"chatml": CHATML, "gemma": GEMMA})
"""By the names that recipes have for them."""
_GEMMAS_MARKS = ("<start_of_turn>", "<end_of_turn>")

_ROLES = {"system": "system", "human": "user", "ai": "assistant"}


def turns_of(messages: Sequence[BaseMessage]) -> list[Turn]:
    """LangChain messages as a template's turns; what is neither system nor character is the user."""
    return [{"role": _ROLES.get(message.type, "user"), "content": message.text} for message in messages]


def usual_template(is_mark: Callable[[str], bool]) -> str:
    """The template for a model whose file brings none.

    Args:
        is_mark: whether the vocabulary has a text as one control token.
    """
    return GEMMA if all(map(is_mark, _GEMMAS_MARKS)) else CHATML


class ChatTemplate:
    """One compiled template."""

    def __init__(self, source: str, *, bos: str, eos: str) -> None:
        """Compile `source`.

        Raises:
            ModelError: it is not a Jinja template.
        """
        self.source = source
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = _strftime_now
        environment.filters["tojson"] = _to_json
        self._special = {"bos_token": bos, "eos_token": eos}
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelError(f"The model's chat template cannot be read: {error}.") from error

    def render(self, turns: Sequence[Turn], *, answer_follows: bool = True) -> str:
        """The prompt for `turns`, ready for the model's answer if that follows.

        Some templates know no system role, or insist that user and assistant alternate; for them
        the turns are folded until they fit.

        Raises:
            ModelError: the template refuses the folded turns too.
        """
        try:
            return self._render(turns, answer_follows)
        except TemplateError:
            try:
                return self._render(fold(turns), answer_follows)
            except TemplateError as error:
                raise ModelError(
                    f"The model's chat template refuses this conversation: {error}."
                ) from error

    def _render(self, turns: Sequence[Turn], answer_follows: bool) -> str:
        return self._template.render(
            messages=list(turns), add_generation_prompt=answer_follows, **self._special
        )


def fold(turns: Sequence[Turn]) -> list[Turn]:
    """The same words in strictly alternating turns that begin with the user's; system is the user's."""
    folded: list[Turn] = []
    for turn in turns:
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
    return datetime.datetime.now().astimezone().strftime(pattern)


def _to_json(value: Any, indent: int | None = None, **_: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
