"""The SentencePiece file of a merged model's vocabulary, which llama.cpp's converters read.

Without that file, the converters assume a vocabulary of another type. transformers does not save it, and a
GGUF file contains the pieces but not the file from which they came.
"""

import shutil
from pathlib import Path
from typing import Any, Final

_FILE: Final = "tokenizer.model"
_KIND: Final = "llama"
"""GGUF's name of the type of SentencePiece vocabularies."""


def write_sentencepiece(base: Path, folder: Path) -> None:
    """Write `tokenizer.model` into a folder for the converters, if the base has such a vocabulary.

    Args:
        base: a GGUF file.
        folder: a transformers model with the same vocabulary.

    Raises:
        OSError: the disk is full.
    """
    import gguf

    fields = gguf.GGUFReader(base).fields
    if fields[gguf.Keys.Tokenizer.MODEL].contents() != _KIND:
        return
    from sentencepiece import sentencepiece_model_pb2

    model: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # made when imported
    pieces = zip(
        fields[gguf.Keys.Tokenizer.LIST].contents(),
        fields[gguf.Keys.Tokenizer.SCORES].contents(),
        fields[gguf.Keys.Tokenizer.TOKEN_TYPE].contents(),
        strict=True,
    )
    for piece, score, kind in pieces:
        # Both number the kinds of pieces alike.
        model.pieces.add(piece=piece, score=score, type=kind)
        model.trainer_spec.byte_fallback |= kind == gguf.TokenType.BYTE
    model.trainer_spec.model_type = model.trainer_spec.BPE
    (folder / _FILE).write_bytes(model.SerializeToString())


def copy_sentencepiece(base: Path, folder: Path) -> None:
    """Copy `tokenizer.model` into a folder for the converters, if the base has such a file.

    Args:
        base: a folder for transformers.
        folder: a transformers model with the same vocabulary.

    Raises:
        OSError: the disk is full.
    """
    if (base / _FILE).is_file():
        shutil.copyfile(base / _FILE, folder / _FILE)
