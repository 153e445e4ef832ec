"""How many tokens a text takes: exactly with the model's own tokenizer, by an estimate without one."""

from typing import Any

import pytest
from helpers.reading_model import ReadingModel
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel, BaseLanguageModel

from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.local import count_tokens
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.text import estimated_tokens


class WordByWord(ReadingModel):
    """One whose tokens are words."""

    def get_token_ids(self, text: str) -> list[int]:
        return [len(word) for word in text.split()]


@pytest.fixture
def no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangChain's own counting, which fetches a tokenizer, is an error."""

    def refuse(self: BaseLanguageModel[Any], text: str) -> list[int]:
        raise AssertionError(f"a tokenizer would be downloaded to count {text!r}")

    monkeypatch.setattr(BaseLanguageModel, "get_token_ids", refuse)


@pytest.mark.core
def test_a_local_model_counts_with_its_own_tokenizer(small_model: ChatLlamaCpp) -> None:
    assert count_tokens(small_model, "Hello world") == (2, True)
    assert count_tokens(WordByWord(), "one two three") == (3, True)


@pytest.mark.usefixtures("no_download")
@pytest.mark.parametrize("model", [ScriptedChatModel(), ReadingModel()])
def test_of_models_without_a_tokenizer_of_their_own_tokens_are_estimated(model: BaseChatModel) -> None:
    assert count_tokens(model, "Hello world") == (3, False)


@given(st.text(), st.text())
def test_an_estimate_of_two_texts_is_that_of_both_together_but_for_rounding(one: str, other: str) -> None:
    together = estimated_tokens(one + other)
    assert together <= estimated_tokens(one) + estimated_tokens(other) <= together + 1


def test_a_chinese_character_is_a_token_and_of_others_four_are() -> None:
    assert [estimated_tokens(text) for text in ("", "a", "abcd", "abcde", "今晚", "今晚abcd")] == [
        0,
        1,
        1,
        2,
        2,
        3,
    ]
