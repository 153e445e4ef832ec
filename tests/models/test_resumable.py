"""Downloads that break off at any byte end with the whole file."""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from helpers.hypotheses import examples
from helpers.model_hub import ModelHub, running_model_hub
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.models.llamacpp.files import resumable
from rolellm_agents.models.llamacpp.files.resumable import receive

CONTENT = random.Random(3).randbytes(200_000)
PLACE = "/elsewhere/files/here/big.gguf"


@pytest.fixture(scope="module")
def hub() -> Iterator[ModelHub]:
    with running_model_hub({"files/here": {"big.gguf": CONTENT}}) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumable, "_PAUSE", 0)


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parts") / "big.gguf.part"


@examples(0.5)
@given(cuts=st.lists(st.integers(0, 150_000), max_size=4), starts=st.integers(1, 3))
def test_a_download_that_breaks_at_any_byte_ends_with_the_whole_file(
    hub: ModelHub, part: Path, cuts: list[int], starts: int
) -> None:
    """The command is also started again, as after a kill, which leaves what was received."""
    resumable.discard(part)
    seen: list[int] = []
    for _ in range(starts):
        hub.breaks_after = list(cuts)
        digest = receive(hub.url + PLACE, part, lambda done, _: seen.append(done))
    assert part.read_bytes() == CONTENT
    assert digest == hashlib.sha256(CONTENT).hexdigest()
    assert seen == sorted(seen)


def test_changed_content_is_received_anew(hub: ModelHub, part: Path) -> None:
    resumable.discard(part)
    part.write_bytes(b"the beginning of an older version")
    receive(hub.url + PLACE, part, lambda *_: None)
    assert part.read_bytes() == CONTENT


def test_a_server_without_a_connection_is_given_up(hub: ModelHub, part: Path) -> None:
    resumable.discard(part)
    hub.breaks_after = [10, 0, 0, 0, 0]
    with pytest.raises(httpx2.TransportError):
        receive(hub.url + PLACE, part, lambda *_: None)
    assert part.read_bytes() == CONTENT[:10]
    assert not hub.breaks_after


def test_another_server_does_not_get_the_token(part: Path) -> None:
    resumable.discard(part)
    with running_model_hub({"files/here": {"big.gguf": CONTENT}}) as other, running_model_hub({}) as first:
        first.forwards = other.url
        receive(f"{first.url}{PLACE}", part, lambda *_: None, headers={"Authorization": "Bearer hf_x"})
        assert first.tokens == ["Bearer hf_x"]
        assert other.tokens == [""]
    assert part.read_bytes() == CONTENT
