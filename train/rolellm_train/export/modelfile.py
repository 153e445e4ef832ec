"""Write Ollama Modelfiles.

Ollama needs the chat template as a Go template, which is derived from renderings of the model's own
template.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.template import ChatTemplate, Turn

_ROLES: Final = ("system", "user", "assistant")
_MARK: Final = "\x01{}\x02"
"""Placeholders that occur in no template."""


def _turn(role: str, content: str) -> Turn:
    return {"role": role, "content": content}


def modelfile(
    *, model: str, adapter: str | None, template: ChatTemplate, bos: str, ends: Sequence[str]
) -> str:
    """Write a Modelfile.

    Args:
        model: the path of the model, or of the adapter's base model.
        adapter: the path of the adapter, if any.
        template: the model's chat template.
        bos: the beginning-of-text token as text if Ollama adds it itself, else empty.
        ends: the texts of the tokens that end an answer.
    """
    lines = [f"FROM {model}"]
    if adapter:
        lines.append(f"ADAPTER {adapter}")
    go = go_template(template, bos)
    lines.append(
        f'TEMPLATE """{go}"""'
        if go
        else "# Ollama takes the chat template that stands in the model's file."
    )
    lines += [f'PARAMETER stop "{end}"' for end in ends if end and '"' not in end]
    return "\n".join(lines) + "\n"


def go_template(template: ChatTemplate, bos: str) -> str:
    """Convert a chat template to a Go template; empty if there is no equivalent one.

    The text around each role's content is found by rendering placeholders. The result is compared with the
    template on a conversation of two exchanges.

    Args:
        template: the model's chat template.
        bos: the beginning-of-text token to leave out; empty to keep it.
    """
    for form in (_each_by_itself, _instruction_before_question):
        try:
            candidate = form(template, bos)
        except (ModelError, ValueError):
            continue
        if candidate is not None and candidate.rendering == _expected(template, bos):
            return candidate.go
    return ""


class _Written(NamedTuple):
    """A Go template, and its rendering of the test conversation."""

    go: str
    rendering: str


_ABOUT: Final = _turn("system", "about")
_ASKED: Final = [_turn(role, f"{role} {number}") for number in (1, 2) for role in ("user", "assistant")][
    :-1
]


def _expected(template: ChatTemplate, bos: str) -> str:
    return template.render([_ABOUT, *_ASKED]).removeprefix(bos)


def _each_by_itself(template: ChatTemplate, bos: str) -> _Written | None:
    """The template if every turn has its own markers."""
    around = _around(template, bos)
    begin = _generation_prompt(template)
    rendering = "".join(turn["content"].join(around[turn["role"]]) for turn in (_ABOUT, *_ASKED))
    if not _are_plain([begin, *(mark for pair in around.values() for mark in pair)]):
        return None
    branches = "else ".join(
        f'if eq .Role "{role}" }}}}{before}{{{{ .Content }}}}{after}{{{{ '
        for role, (before, after) in around.items()
    )
    return _Written(
        f"{{{{ range .Messages }}}}{{{{ {branches}end }}}}{{{{ end }}}}{begin}", rendering + begin
    )


def _instruction_before_question(template: ChatTemplate, bos: str) -> _Written | None:
    """The template if the instruction is part of the first user turn."""
    about, user, assistant = (_turn(role, _MARK.format(role)) for role in _ROLES)

    def rendered(*turns: Turn) -> str:
        return template.render(turns, answer_follows=False).removeprefix(bos)

    opening, _, closing = rendered(user).partition(user["content"])
    answer = rendered(user, assistant).removeprefix(rendered(user))
    begin, _, end = answer.partition(assistant["content"])
    both = rendered(about, user).removeprefix(opening + about["content"])
    between = both.removesuffix(user["content"] + closing)
    if not _are_plain((opening, closing, begin, end, between)):
        return None
    around = {"user": (opening, closing), "assistant": (begin, end)}
    turns = "".join(turn["content"].join(around[turn["role"]]) for turn in _ASKED)
    rendering = f"{opening}{_ABOUT['content']}{between}{turns.removeprefix(opening)}{begin}"
    go = (
        '{{ $about := "" }}{{ range .Messages }}{{ if eq .Role "system" }}{{ $about = .Content }}'
        f'{{{{ else if eq .Role "user" }}}}{opening}'
        f'{{{{ if $about }}}}{{{{ $about }}}}{between}{{{{ $about = "" }}}}{{{{ end }}}}'
        f'{{{{ .Content }}}}{closing}{{{{ else if eq .Role "assistant" }}}}{begin}{{{{ .Content }}}}{end}'
        f"{{{{ end }}}}{{{{ end }}}}{begin}"
    )
    return _Written(go, rendering)


def _generation_prompt(template: ChatTemplate) -> str:
    """The text that asks for an answer. It may differ from the text before earlier answers by a space."""
    question = [_turn("user", "user")]
    return template.render(question).removeprefix(template.render(question, answer_follows=False))


def _are_plain(marks: Iterable[str]) -> bool:
    """Whether the texts are plain text in Go templates and Modelfiles, and contain no placeholder."""
    return not any(sign in mark for mark in marks for sign in ("{{", '"""', "\x01"))


def _around(template: ChatTemplate, bos: str) -> dict[str, tuple[str, str]]:
    """The text before and after each role's content.

    Raises:
        ModelError: the template rejects such turns.
        ValueError: the template changes the content, or a turn changes the text of earlier turns.
    """
    turns = [_turn(role, _MARK.format(role)) for role in _ROLES]
    around: dict[str, tuple[str, str]] = {}
    before = ""
    for count, turn in enumerate(turns, 1):
        text = template.render(turns[:count], answer_follows=False).removeprefix(bos)
        if not text.startswith(before) or turn["content"] not in text.removeprefix(before):
            raise ValueError("the turns of this template depend on each other")
        opening, _, after = text.removeprefix(before).partition(turn["content"])
        around[turn["role"]] = (opening, after)
        before = text
    return around
