"""An exported model goes to the hub in one commit."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.commands import rolellm
from helpers.small_hub import ONLINE, Hub, running_hub

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.exports import export_files
from rolellm_agents.models.names import keep_name

pytest.importorskip("huggingface_hub")


@pytest.fixture
def hub() -> Iterator[str]:
    with running_hub() as address:
        yield address


@pytest.fixture
def export(tmp_path: Path) -> Path:
    folder = tmp_path / "export"
    folder.mkdir()
    for name, content in {
        "README.md": b"# Lamp",
        "adapter.gguf": b"GGUF\xff",
        "parity.json": b"{}",
    }.items():
        (folder / name).write_bytes(content)
    (folder / ".export.lock").touch()
    keep_name("lamp", f"llamacpp:smollm2+{folder / 'adapter.gguf'}", replace=True)
    return folder


def test_a_model_is_uploaded_by_its_name_with_its_card_first(hub: str, export: Path) -> None:
    done = rolellm(
        *("models", "push", "lamp", "ada/lamp", "--private", "--json"),
        env={"HF_ENDPOINT": hub, "HF_TOKEN": "hf_right", **ONLINE},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == ["README.md", "adapter.gguf", "parity.json"]
    created = {"name": "lamp", "organization": "ada", "type": "model", "visibility": "private"}
    assert Hub.created == [created]
    assert Hub.committed["adapter.gguf"] == b"GGUF\xff"


def test_the_folder_names_the_same_files_and_a_dry_run_sends_none(hub: str, export: Path) -> None:
    assert export_files(str(export)) == export_files("lamp")
    done = rolellm("models", "push", str(export), "ada/lamp", "--dry-run", env={"HF_ENDPOINT": hub})
    assert done.returncode == 0, done.stderr
    assert "adapter.gguf" in done.stdout
    assert Hub.created == []


@pytest.mark.parametrize("name", ["nobody", "llamacpp:smollm2", "server"])
def test_what_was_not_exported_is_refused(export: Path, name: str) -> None:
    keep_name("server", "openai:gpt-4o-mini", replace=True)
    with pytest.raises(
        RoleLLMError, match=f"{name} is no export of a model; name one that “rolellm export”"
    ):
        export_files(name)
