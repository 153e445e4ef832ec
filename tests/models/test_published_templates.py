"""Published chat templates are rendered as transformers renders them, byte for byte.

The templates are those that llama.cpp has for its own tests (`models/templates` in its sources, also in the
source distribution of llama-cpp-python). ROLELLM_CHAT_TEMPLATES names their folder.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.template import ChatTemplate, Turn

_FOLDER = os.environ.get("ROLELLM_CHAT_TEMPLATES", "")
FILES = sorted(Path(_FOLDER).glob("*.jinja")) if _FOLDER else []
BOS, EOS = "<BOS>", "<EOS>"
SYSTEM, HELLO, REPLY, AGAIN = (
    {"role": "system", "content": "You are Ada."},
    {"role": "user", "content": "Who are you?"},
    {"role": "assistant", "content": "Ada."},
    {"role": "user", "content": "And now?"},
)
TALKS: list[list[Turn]] = [
    [HELLO],
    [SYSTEM, HELLO],
    [HELLO, REPLY, AGAIN],
    [SYSTEM, HELLO, REPLY, AGAIN],
    [SYSTEM, HELLO, REPLY, AGAIN, REPLY, HELLO],
]

if not FILES:
    pytest.skip("ROLELLM_CHAT_TEMPLATES names no folder with templates", allow_module_level=True)


def of_transformers(source: str, talk: list[Turn], variables: dict[str, Any]) -> str | None:
    """What transformers renders; None if the template refuses the conversation."""
    from transformers.utils.chat_template_utils import render_jinja_template

    try:
        rendered, _ = render_jinja_template(
            [talk],
            chat_template=source,
            add_generation_prompt=True,
            bos_token=BOS,
            eos_token=EOS,
            **variables,
        )
    except Exception:  # noqa: BLE001  # each template raises its own
        return None
    return str(rendered[0])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_published_template_is_rendered_as_transformers_does(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    template = ChatTemplate(source, bos=BOS, eos=EOS)
    compared = 0
    for talk in TALKS:
        for thinking in (False, True):
            variables = {
                "enable_thinking": thinking,
                "thinking": thinking,
                "reasoning_effort": "medium" if thinking else "low",
            }
            expected = of_transformers(source, talk, variables)
            if expected is None:
                continue
            compared += 1
            ours = template.render(talk, thinking=thinking)
            assert ours.startswith(expected)
            # What follows opens or closes the reasoning.
            rest = ours.removeprefix(expected)
            assert not rest or template.reasoning is not None
    if not compared:
        pytest.skip("transformers cannot render it without tools")


NEEDS_MORE = {"fireworks-ai-llama-3-firefunction-v2"}
"""Templates that require variables of their own."""


@pytest.mark.parametrize(
    "file", [file for file in FILES if file.stem not in NEEDS_MORE], ids=lambda file: file.stem
)
def test_every_conversation_of_a_persona_can_be_rendered(file: Path) -> None:
    """Also two turns of one speaker in a row, and an answer without a question."""
    template = ChatTemplate(file.read_text(encoding="utf-8"), bos=BOS, eos=EOS)
    for talk in ([REPLY, HELLO], [SYSTEM, REPLY, HELLO], [SYSTEM, HELLO, AGAIN], *TALKS):
        try:
            text = template.render(talk)
        except ModelError as error:
            pytest.fail(f"{file.name}: {error}")
        for turn in talk:
            assert turn["content"] in text


@pytest.mark.parametrize(
    "file", [file for file in FILES if file.stem not in NEEDS_MORE], ids=lambda file: file.stem
)
def test_a_long_conversation_stays_within_the_budget(file: Path) -> None:
    talk = [SYSTEM, *[HELLO, REPLY] * 250, AGAIN]
    assert AGAIN["content"] in ChatTemplate(file.read_text(encoding="utf-8"), bos=BOS, eos=EOS).render(talk)
