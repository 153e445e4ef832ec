"""A data set goes to the hub in one commit with its card; a server here speaks the hub's protocol."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.commands import rolellm
from helpers.small_hub import ONLINE, Hub, running_hub

pytest.importorskip("huggingface_hub")


@pytest.fixture
def hub() -> Iterator[str]:
    with running_hub() as address:
        yield address


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "lamps.jsonl"
    row = {"role": "Ada", "question": "Who keeps the lamp?", "generated": ["I do."], "language": "en"}
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return file


def test_a_data_set_and_its_card_are_one_commit(hub: str, data: Path) -> None:
    done = rolellm(
        *("data", "push", str(data), "ada/lamp-talk", "--private", "--licence", "cc0-1.0", "--json"),
        env={"HF_ENDPOINT": hub, "HF_TOKEN": "hf_right", **ONLINE},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == ["README.md", "lamps.jsonl"]
    assert Hub.created[0]["name"] == "lamp-talk"
    assert Hub.created[0]["type"] == "dataset"
    assert Hub.committed["lamps.jsonl"] == data.read_bytes()
    assert b"license: cc0-1.0" in Hub.committed["README.md"]


@pytest.mark.parametrize(
    ("repository", "token", "what"),
    [
        ("ada/lamp-talk", "hf_wrong", "The hub did not take ada/lamp-talk: "),
        ("ada/lamp/talk", "hf_right", "is not the name of a repository; use OWNER/NAME"),
        ("ada/lamp-talk", "", "Nobody is logged in at the hub"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(
    hub: str, data: Path, tmp_path: Path, repository: str, token: str, what: str
) -> None:
    done = rolellm(
        *("data", "push", str(data), repository),
        env={"HF_ENDPOINT": hub, "HF_TOKEN": token, "HF_HOME": str(tmp_path / "nobody"), **ONLINE},
    )
    assert done.returncode == 2
    assert what in done.stderr
    assert Hub.committed == {}


def test_a_hub_that_is_not_there_is_one_sentence(data: Path) -> None:
    done = rolellm(
        *("data", "push", str(data), "ada/lamp-talk"),
        env={"HF_ENDPOINT": "http://127.0.0.1:9", "HF_TOKEN": "hf_right", **ONLINE},
    )
    assert done.returncode == 2
    assert "The hub did not take ada/lamp-talk" in done.stderr


def test_a_dry_run_sends_nothing(hub: str, data: Path) -> None:
    done = rolellm("data", "push", str(data), "ada/lamp-talk", "--dry-run", env={"HF_ENDPOINT": hub})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("README.md\nlamps.jsonl\n")
    assert Hub.created == []
