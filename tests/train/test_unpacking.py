from pathlib import Path

import pytest

from rolellm_agents.errors import ModelError
from rolellm_train.base.unpacking import unpack_gguf


def test_a_file_that_is_no_gguf_is_refused_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("words")
    with pytest.raises(ModelError, match="is not a GGUF file"):
        unpack_gguf(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_gguf_that_transformers_cannot_read_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(ModelError, match=r"transformers cannot read .*broken\.gguf"):
        unpack_gguf(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()
