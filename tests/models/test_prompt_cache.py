"""Computed beginnings of prompts on disk."""

import os
import threading
from pathlib import Path

import pytest

from rolellm_agents.models.llamacpp.engine.prompt_cache import PromptCache
from rolellm_agents.models.llamacpp.files.gguf import identity

STATE = bytes(range(256)) * 4
TOKENS = [1, 2, 3]


def kept(folder: Path, made_by: str = "a model", limit: int = 10_000) -> PromptCache:
    prompt_cache = PromptCache(folder, made_by, limit=limit)
    prompt_cache.keep(TOKENS, None, STATE)
    prompt_cache.wait()
    return prompt_cache


def test_what_was_kept_comes_back_in_another_process(tmp_path: Path) -> None:
    kept(tmp_path / "new" / "folder")
    assert PromptCache(tmp_path / "new" / "folder", "a model", limit=9).load(TOKENS, None) == STATE


def test_other_tokens_another_model_or_adapter_find_nothing(tmp_path: Path) -> None:
    prompt_cache = kept(tmp_path)
    assert prompt_cache.load([1, 2], None) is None
    assert prompt_cache.load(TOKENS, "an adapter") is None
    assert PromptCache(tmp_path, "another model", limit=9).load(TOKENS, None) is None


def test_an_adapter_written_anew_finds_nothing(tmp_path: Path) -> None:
    adapter = tmp_path / "adapter.gguf"
    adapter.write_bytes(b"GGUF")
    prompt_cache = PromptCache(tmp_path / "warm", "a model", limit=10_000)
    prompt_cache.keep(TOKENS, identity(adapter), STATE)
    prompt_cache.wait()
    assert prompt_cache.load(TOKENS, identity(adapter)) == STATE
    adapter.write_bytes(b"GGUF of another training")
    assert prompt_cache.load(TOKENS, identity(adapter)) is None


@pytest.mark.parametrize("harm", ["cut", "flipped", "emptied"])
def test_a_damaged_file_counts_as_absent_and_goes(tmp_path: Path, harm: str) -> None:
    prompt_cache = kept(tmp_path)
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    harmed = {"cut": bytes(content[:-9]), "flipped": bytes(content), "emptied": b""}
    file.write_bytes(harmed[harm])
    assert prompt_cache.load(TOKENS, None) is None
    assert not file.exists()


def test_the_least_recently_used_goes_when_there_is_no_room(tmp_path: Path) -> None:
    prompt_cache = PromptCache(tmp_path, "a model", limit=2 * len(STATE) + 300)
    for number in range(2):
        prompt_cache.keep([number], None, STATE)
        prompt_cache.wait()
    for file in tmp_path.iterdir():
        os.utime(file, (1, 1))
    assert prompt_cache.load([0], None)  # used just now
    prompt_cache.keep([2], None, STATE)
    prompt_cache.wait()
    assert [bool(prompt_cache.load([number], None)) for number in range(3)] == [True, False, True]


def test_a_state_larger_than_all_room_is_not_kept(tmp_path: Path) -> None:
    assert kept(tmp_path, limit=100).load(TOKENS, None) is None


def test_parts_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    (tmp_path / "left.part").write_bytes(b"half")
    kept(tmp_path)
    assert not (tmp_path / "left.part").exists()


def test_a_folder_that_cannot_be_written_disturbs_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert kept(tmp_path / "file" / "folder").load(TOKENS, None) is None


def test_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    threads = [threading.Thread(target=kept, args=(tmp_path,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept(tmp_path).load(TOKENS, None) == STATE
    assert len(list(tmp_path.iterdir())) == 1
