"""Unknown keyword arguments of ChatLlamaCpp are refused, with a suggestion."""

from pathlib import Path
from typing import assert_type

import pytest
from helpers.tiny_gguf import make_tiny_gguf
from langchain_core.messages import AIMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "tiny.gguf"
    make_tiny_gguf(made, seed=1)
    return made


def test_a_new_model_refuses_an_unknown_field(path: Path) -> None:
    with pytest.raises(ModelError, match=r"no field 'presence_penlty' \(did you mean presence_penalty"):
        ChatLlamaCpp(model_path=path, presence_penlty=1)


def test_bind_refuses_an_unknown_argument(path: Path) -> None:
    with pytest.raises(ModelError, match=r"no argument 'presence_penlty' \(did you mean presence_penalty"):
        ChatLlamaCpp(model_path=path).bind(presence_penlty=1)


def test_a_call_refuses_an_unknown_argument(path: Path) -> None:
    with pytest.raises(ModelError, match=r"no argument 'temprature' \(did you mean temperature"):
        ChatLlamaCpp(model_path=path).invoke("Hello", temprature=1)


async def test_an_asynchronous_call_refuses_an_unknown_argument(path: Path) -> None:
    with pytest.raises(ModelError, match=r"no argument 'max_token' \(did you mean max_tokens"):
        await ChatLlamaCpp(model_path=path).ainvoke("Hello", max_token=1)


def test_known_arguments_are_bound(path: Path) -> None:
    model = ChatLlamaCpp(model_path=path, timeout=60, max_retries=2)
    bound = model.bind(temperature=0, seed=1, stop=["x"], thinking="off")
    assert bound.kwargs["seed"] == 1


def test_a_binding_is_a_model_for_type_checkers_too(path: Path) -> None:
    answer = ChatLlamaCpp(model_path=path, max_tokens=1).bind(temperature=0).invoke("Hello")
    assert_type(answer, AIMessage)
    assert isinstance(answer, AIMessage)
