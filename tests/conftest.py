"""What every test starts from: a home of its own, no key, no way out to a hub."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.kinds import kinds_of
from hypothesis import settings

from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.persona import Persona, load_persona

# Without deadlines: how long an example takes depends on what else the machine does. A test that needs
# more or fewer examples than the others says so with `helpers.hypotheses.examples`.
for profile, number in (("fast", 20), ("ci", 200), ("thorough", 2000)):
    settings.register_profile(profile, deadline=None, max_examples=number)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

_SETTINGS = (
    "MODEL",
    "STRATEGY",
    "TEMPERATURE",
    "MAX_TOKENS",
    "USER_NAME",
    "YOU",
    "THEME",
    "RECALL_METHOD",
    "RECALL_K",
    "RECALL_TOKENS",
    "RECALL_FLOOR",
    "EMBEDDINGS",
    "CHROMA_URL",
    "REMEMBER",
)


def pytest_make_parametrize_id(val: object) -> str | None:
    """A long text is told by its beginning: the names of tests are to be read.

    Bytes are not, where the time of making may stand: all processes must find the same names.
    """
    if isinstance(val, bytes):
        return f"{len(val)} bytes"
    return f"{val[:60]!r}…" if isinstance(val, str) and len(val) > 60 else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that drive the app, compute with weights or start processes."""
    for item in items:
        if isinstance(item, pytest.Function):
            for kind in sorted(kinds_of(item)):
                item.add_marker(kind)


@pytest.fixture(scope="session", autouse=True)
def _nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What fixtures for several tests write does not come into the user's own folders."""
    place = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ROLELLM_HOME", str(place))
        yield
    shutil.rmtree(place, ignore_errors=True)  # the embedded model's weights take 145 MB


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings, conversations and caches of this test alone."""
    place = tmp_path / "home"
    monkeypatch.setenv("ROLELLM_HOME", str(place))
    for name in ("DEBUG", *_SETTINGS):
        monkeypatch.delenv(f"ROLELLM_{name}", raising=False)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return place


@pytest.fixture(autouse=True)
def _nobody_elses_store() -> Iterator[None]:
    """Chroma keeps what it opened by its path, and pytest gives a path again when its folder is gone.

    Nor does it ever close its connections to a server.
    """
    yield
    if "chromadb" not in sys.modules:
        return
    from chromadb.api import ServerAPI
    from chromadb.api.fastapi import FastAPI
    from chromadb.api.shared_system_client import SharedSystemClient

    for system in SharedSystemClient._identifier_to_system.values():
        api = system.instance(ServerAPI)  # type: ignore[type-abstract]  # the concrete one is meant
        if isinstance(api, FastAPI):
            api._session.close()
    SharedSystemClient.clear_system_cache()


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
