"""Damaged and hostile GGUF files are refused before llama.cpp maps them."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers import mutated_gguf
from helpers.tiny_gguf import make_tiny_adapter, make_tiny_gguf
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.files.bundled import BUNDLED
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.llamacpp.files.gguf_header import _BLOCKS, check_header
from rolellm_agents.models.llamacpp.model import LlamaModel


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return make_tiny_gguf(tmp_path_factory.mktemp("g") / "tiny.gguf", seed=1).read_bytes()


def test_whole_files_are_let_through(tmp_path: Path) -> None:
    base = make_tiny_gguf(tmp_path / "tiny.gguf", seed=1)
    adapters = [model.adapter for model in BUNDLED.values() if model.adapter is not None]
    for file in (base, make_tiny_adapter(tmp_path / "a.gguf", base, seed=1), embedded_gguf(), *adapters):
        check_header(file)


def test_the_sizes_of_blocks_are_those_of_the_format() -> None:
    constants = pytest.importorskip("gguf.constants")
    known = {int(kind): size for kind, size in constants.GGML_QUANT_SIZES.items()}
    assert {kind: size for kind, size in _BLOCKS.items() if known.get(kind, size) != size} == {}
    assert len(_BLOCKS.keys() & known.keys()) > 25


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (b"GGUF\x03\0\0\0", b"GGUF\x07\0\0\0", "its version 7 is none of 2, 3"),
        (b"llama.block_count\x04\0\0\0\x02", b"llama.block_count\x04\0\0\0\0", "block_count is 0"),
        (b"blk.0.attn_q.weight", b"blk.0.attn_k.weight", "two of its tensors have the same name"),
    ],
)
def test_what_is_wrong_is_told(
    before: bytes, after: bytes, words: str, tiny: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(tiny.replace(before, after, 1))
    with pytest.raises(ModelError, match=words):
        LlamaModel(file)


def test_a_file_that_was_cut_is_refused(tiny: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    for length in range(4, len(tiny), 997):
        file.write_bytes(tiny[:length])
        with pytest.raises(ModelError, match=r"is damaged: .*; download it again"):
            check_header(file)
    file.write_bytes(b"")
    with pytest.raises(ModelError, match="is empty"):
        check_header(file)


@given(content=st.binary(max_size=300))
def test_few_bytes_are_no_model(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "any.gguf"
    file.write_bytes(b"GGUF" + content)
    with pytest.raises(ModelError, match="download it again"):
        check_header(file)


@pytest.mark.timeout(600)
def test_no_damaged_header_ends_the_process(tiny: bytes, tmp_path: Path) -> None:
    """What our check lets through is loaded by llama.cpp, or refused by it."""
    file = tmp_path / "tiny.gguf"
    file.write_bytes(tiny)
    done = subprocess.run(
        (sys.executable, mutated_gguf.__file__, str(file), "1", "600"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "refused by us" in done.stdout
