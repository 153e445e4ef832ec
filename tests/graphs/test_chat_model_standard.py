"""LangChain's own tests of what every chat model must do, over a persona that the embedded model plays."""

from functools import cache
from typing import Any

import pytest
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_graphs.role.chat_model import RoleChatModel


@cache
def embedded() -> ChatLlamaCpp:
    """One for all tests: nobody need load it again, nor read the persona again."""
    return ChatLlamaCpp(model_path=embedded_gguf(), n_ctx=2048, max_tokens=40, dry_multiplier=0.8)


class Standard:
    """What LangChain's test suites are told of the model: what the one inside can do."""

    @property
    def chat_model_class(self) -> type[RoleChatModel]:
        return RoleChatModel

    @property
    def chat_model_params(self) -> dict[str, object]:
        return {"persona": "sherlock-holmes", "model": embedded(), "strategy": "system"}

    @property
    def standard_chat_model_params(self) -> dict[str, Any]:
        """LangChain's, with shorter answers."""
        standard: dict[str, Any] = super().standard_chat_model_params  # type: ignore[misc]
        return {**standard, "max_tokens": 40}

    @property
    def has_tool_calling(self) -> bool:
        return False

    @property
    def has_structured_output(self) -> bool:
        return True

    @property
    def supports_json_mode(self) -> bool:
        return True


class TestUnitStandard(Standard, ChatModelUnitTests):
    """LangChain's own unit tests."""


@pytest.mark.model
class TestIntegrationStandard(Standard, ChatModelIntegrationTests):
    """LangChain's own tests against the real model."""
