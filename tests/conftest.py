"""What every test starts from: a home of its own, no key, no way out to a hub."""

from pathlib import Path

import pytest

from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.gguf import embedded_gguf
from rolellm_agents.persona import Persona, load_persona


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings, conversations and caches of this test alone."""
    place = tmp_path / "home"
    monkeypatch.setenv("ROLELLM_HOME", str(place))
    for name in ("MODEL", "STRATEGY", "TEMPERATURE", "MAX_TOKENS", "DEBUG"):
        monkeypatch.delenv(f"ROLELLM_{name}", raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return place


@pytest.fixture
def holmes() -> Persona:
    """A bundled persona."""
    return load_persona("sherlock-holmes")


@pytest.fixture(scope="session")
def small_model() -> ChatLlamaCpp:
    """The embedded model, loaded once for all tests; greedy, short answers, a context of 2,048."""
    model = ChatLlamaCpp(model_path=embedded_gguf(), n_ctx=2048, sequences=4, temperature=0, max_tokens=24)
    model.load()
    return model
