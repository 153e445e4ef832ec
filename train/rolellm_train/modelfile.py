"""An Ollama Modelfile.

Ollama wants the chat template in Go's language; it is written from what the model's own renders.
"""

from collections.abc import Sequence
from typing import Final

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.template import ChatTemplate, Turn

_ROLES: Final = ("system", "user", "assistant")
_MARK: Final = "\x01{}\x02"
"""Words that no template has."""


def modelfile(
    *, model: str, adapter: str | None, template: ChatTemplate, bos: str, ends: Sequence[str]
) -> str:
    """Write a Modelfile.

    Args:
        model: the path of the model, or of an adapter's base.
        adapter: the path of the adapter.
        template: the model's own.
        bos: the mark of the beginning, where Ollama puts it itself; else empty.
        ends: texts of the tokens that end an answer.
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
    """The template in Go's language; empty when Go's simple form cannot say the same.

    What stands around each role's words is found by rendering marked words; the result is held against the
    template itself on a conversation of two exchanges.

    Args:
        template: the model's own.
        bos: the mark of the beginning, which is left out here; empty when it is not.
    """
    asked = [_turn(role, f"{role} {number}") for number in (1, 2) for role in ("user", "assistant")]
    conversation = [_turn("system", "about"), *asked[:-1]]
    try:
        around = _around(template, bos)
        wanted = template.render(conversation).removeprefix(bos)
    except (ModelError, ValueError):
        return ""
    begin = around["assistant"][0]
    said = "".join(turn["content"].join(around[turn["role"]]) for turn in conversation)
    if wanted != said + begin or any(
        "{{" in mark or '"""' in mark for pair in around.values() for mark in pair
    ):
        return ""
    branches = "else ".join(
        f'if eq .Role "{role}" }}}}{before}{{{{ .Content }}}}{behind}{{{{ '
        for role, (before, behind) in around.items()
    )
    return f"{{{{ range .Messages }}}}{{{{ {branches}end }}}}{{{{ end }}}}{begin}"


def _around(template: ChatTemplate, bos: str) -> dict[str, tuple[str, str]]:
    """What stands before and behind each role's words.

    Raises:
        ModelError: the template refuses such turns.
        ValueError: words are changed, or turns change those before them.
    """
    turns = [_turn(role, _MARK.format(role)) for role in _ROLES]
    around: dict[str, tuple[str, str]] = {}
    before = ""
    for count, turn in enumerate(turns, 1):
        text = template.render(turns[:count], answer_follows=False).removeprefix(bos)
        if not text.startswith(before) or turn["content"] not in text.removeprefix(before):
            raise ValueError("the turns of this template depend on each other")
        opening, _, behind = text.removeprefix(before).partition(turn["content"])
        around[turn["role"]] = (opening, behind)
        before = text
    return around


def _turn(role: str, content: str) -> Turn:
    return {"role": role, "content": content}
