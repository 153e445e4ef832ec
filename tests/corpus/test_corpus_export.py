"""The corpus as a data set, and its commands."""

import json
from pathlib import Path

import pytest
import yaml
from helpers.commands import rolellm

from rolellm_agents.corpus.location import corpus_folder, read_corpus
from rolellm_agents.errors import CorpusError

CONVERSATIONS = """\
# {persona}

## conversation: daily-life, callback
> Did you sleep?
For two hours, in the chair.

> In which chair of the two?
The one that does not creak.
"""
SCENES = """\
# The last train
setting: A waiting room at midnight.
- sherlock-holmes | goal: Learn what is in the basket.
- shrek

shrek: That bench is taken.
sherlock-holmes (thinks): Mud to the knee.
sherlock-holmes: By whom?
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    for name in ("en/sherlock-holmes", "en/jack-sparrow"):
        file = folder / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(CONVERSATIONS.format(persona=file.stem), "utf-8")
    (folder / "scenes").mkdir()
    (folder / "scenes" / "ten.md").write_text(SCENES, "utf-8")
    return folder


def rows(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_the_corpus_becomes_a_folder_of_jsonl_files_with_a_card(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = rolellm("data", "cast", "--corpus", str(corpus), "--out", str(out), "--json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["exchanges"]["test_personas"] == 2
    assert sum(told["exchanges"].values()) == 4
    (row,) = rows(out / "conversations" / "test_personas.jsonl")
    assert row["id"] == "jack-sparrow-4"
    assert row["source"] == "en/jack-sparrow.md, line 4"
    assert row["messages"] == [
        {"role": "user", "content": "Did you sleep?"},
        {"role": "assistant", "content": "For two hours, in the chair."},
        {"role": "user", "content": "In which chair of the two?"},
        {"role": "assistant", "content": "The one that does not creak."},
    ]
    scenes = [row for split in told["scenes"] for row in rows(out / "scenes" / f"{split}.jsonl")]
    assert [row["title"] for row in scenes] == ["The last train"]
    assert [row["id"] for row in rows(out / "personas.jsonl")] == ["jack-sparrow", "sherlock-holmes"]
    _, head, body = (out / "README.md").read_text("utf-8").split("---\n", 2)
    for config in yaml.safe_load(head)["configs"]:
        assert all((out / one["path"]).is_file() for one in config["data_files"])
    assert "| `test_personas` | 1 | 2 | 0 |" in body


def test_the_files_load_with_the_library_datasets(corpus: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="the extra `train` is not installed")
    out = tmp_path / "out"
    assert rolellm("data", "cast", "--corpus", str(corpus), "--out", str(out)).returncode == 0
    loaded = datasets.load_dataset(
        "json",
        data_files={"test": str(out / "conversations" / "test_personas.jsonl")},
        cache_dir=str(tmp_path / "cache"),
    )
    assert loaded["test"][0]["persona"] == "jack-sparrow"


def test_a_folder_with_files_is_left_alone(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    ran = rolellm("data", "cast", "--corpus", str(corpus), "--out", str(out))
    assert ran.returncode == 2
    assert "has files already; name a new folder." in ran.stderr
    assert [file.name for file in out.iterdir()] == ["mine.txt"]


def test_an_unknown_persona_is_named(corpus: Path, tmp_path: Path) -> None:
    (corpus / "en" / "shrekk.md").write_text(CONVERSATIONS.format(persona="shrekk"), "utf-8")
    ran = rolellm("data", "cast", "--corpus", str(corpus), "--out", str(tmp_path / "out"))
    assert ran.returncode == 2
    assert "conversations of 'shrekk' (did you mean shrek?)" in ran.stderr


def test_without_the_corpus_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolellm_agents.corpus.location.find_spec", lambda name: None)
    with pytest.raises(CorpusError, match="clone the repository"):
        corpus_folder()


def test_a_folder_without_conversations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="has no conversations"):
        read_corpus(tmp_path)
