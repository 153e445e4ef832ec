"""The vocabulary of a GGUF file as a SentencePiece file, which llama.cpp's converters read.

A GGUF holds the pieces but not the file they came from, and without that file the converters take the
vocabulary for one of another kind.
"""

from pathlib import Path
from typing import Any, Final

_FILE: Final = "tokenizer.model"
_KIND: Final = "llama"
"""What GGUF calls a vocabulary of SentencePiece."""


def lay_pieces(base: Path, folder: Path) -> None:
    """Write `tokenizer.model` into a folder for the converters, if the base has such a vocabulary.

    The base is a GGUF file; the folder has a model of transformers with the same vocabulary.

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
