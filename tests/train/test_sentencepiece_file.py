"""A GGUF's vocabulary, for converters and for the models that they make."""

from pathlib import Path

import gguf
import pytest
from helpers.tiny_gguf import make_tiny_gguf

from rolellm_train.base.gguf_metadata import write_with_metadata
from rolellm_train.base.sentencepiece_file import write_sentencepiece

PIECES = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "▁the", "孙", "\n\n"]
KINDS = [3, 3, 3, 2, 3, 1, 1, 4, *[6] * 256]
SCORES = [0.0, 0.0, 0.0, 0.0, 0.0, -1.5, -2.25, -3.0, *[0.0] * 256]
PIECES += [f"<0x{byte:02X}>" for byte in range(256)]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A file with a vocabulary of SentencePiece and no weights."""
    file = tmp_path / "base.gguf"
    writer = gguf.GGUFWriter(file, "gemma3")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(PIECES)
    writer.add_token_scores(SCORES)
    writer.add_token_types(KINDS)
    writer.add_add_space_prefix(False)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def test_pieces_scores_and_kinds_are_those_of_the_gguf(base: Path, tmp_path: Path) -> None:
    from sentencepiece import SentencePieceProcessor

    write_sentencepiece(base, tmp_path)
    read = SentencePieceProcessor()
    read.LoadFromFile(str(tmp_path / "tokenizer.model"))
    numbers = range(len(PIECES))
    assert [read.IdToPiece(number) for number in numbers] == PIECES
    assert [read.GetScore(number) for number in numbers] == SCORES
    assert [read.IsControl(number) for number in numbers] == [kind == 3 for kind in KINDS]
    assert [read.IsUnknown(number) for number in numbers] == [kind == 2 for kind in KINDS]
    assert [read.IsByte(number) for number in numbers] == [kind == 6 for kind in KINDS]


def test_another_kind_of_vocabulary_is_left_to_the_converters(tmp_path: Path) -> None:
    write_sentencepiece(make_tiny_gguf(tmp_path / "tiny.gguf", seed=1), tmp_path)
    assert not (tmp_path / "tokenizer.model").exists()


def test_a_model_gets_the_tokenizer_of_its_base_and_the_template_it_was_tuned_with(
    base: Path, tmp_path: Path
) -> None:
    model, target = make_tiny_gguf(tmp_path / "tiny.gguf", seed=1), tmp_path / "out.gguf"
    write_with_metadata(model, target, {"tokenizer.chat_template": "mine"}, tokenizer=base)
    fields = gguf.GGUFReader(target).fields
    told = {key: field.contents() for key, field in fields.items() if key.startswith("tokenizer.")}
    assert told == {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": PIECES,
        "tokenizer.ggml.scores": SCORES,
        "tokenizer.ggml.token_type": KINDS,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": "mine",
    }
    assert fields["llama.block_count"].contents() == 2
    assert len(gguf.GGUFReader(target).tensors) == len(gguf.GGUFReader(model).tensors)
