"""Answers in a form from any chat model."""

from pathlib import Path

import pytest
from helpers.tiny_gguf import make_tiny_gguf
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from rolellm_agents.errors import ModelError
from rolellm_agents.models.forms import fill_form
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.scripted import ScriptedChatModel


class Mood(BaseModel):
    """How somebody feels."""

    feeling: str
    strength: int


ASKED = [HumanMessage("How do you feel? Answer as JSON.")]


@pytest.mark.parametrize(
    "words",
    [
        '{"feeling": "glad", "strength": 3}',
        'Of course!\n```json\n{"feeling": "glad", "strength": 3}\n```\nThere.',
    ],
)
def test_a_model_without_forms_is_read(words: str) -> None:
    assert fill_form(ScriptedChatModel(replies=[words]), Mood, ASKED) == Mood(feeling="glad", strength=3)


@pytest.mark.parametrize(
    "words", ["I am glad.", '{"feeling": "glad"}', "} {", '{"feeling": "glad", "strength"']
)
def test_words_that_make_no_form_are_none(words: str) -> None:
    assert fill_form(ScriptedChatModel(replies=[words]), Mood, ASKED) is None


def test_a_model_that_fails_is_heard() -> None:
    with pytest.raises(ModelError, match="gone"):
        fill_form(ScriptedChatModel(replies=[ModelError("gone")]), Mood, ASKED)


@pytest.mark.model
def test_a_model_with_forms_cannot_but_fill_it(tmp_path: Path) -> None:
    model = ChatLlamaCpp(
        model_path=make_tiny_gguf(tmp_path / "tiny.gguf", seed=3), n_ctx=512, max_tokens=30
    )
    assert isinstance(fill_form(model, Mood, ASKED), Mood)
