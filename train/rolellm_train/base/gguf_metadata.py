"""Metadata of GGUF files: author, base and method."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import gguf

Fact = str | bool | Sequence[str]

_TOKENIZER: Final = "tokenizer."
_KEPT: Final = frozenset(
    f"general.{name}"
    for name in ("architecture", "type", "file_type", "quantization_version", "size_label", "alignment")
)
"""The `general.` keys that are kept. The others name authors and models, and the converters guess them."""


def write_with_metadata(
    source: Path, target: Path, facts: Mapping[str, Fact], *, tokenizer: Path | None = None
) -> None:
    """Copy a GGUF file with other metadata.

    The source's metadata about its origin is left out, because the converters derive it from folder names.

    Args:
        source: a GGUF file.
        target: the file to write.
        facts: texts and lists of texts by key, such as `general.name`; they replace the source's.
        tokenizer: a GGUF file whose tokenizer replaces the source's; None keeps the source's.

    Raises:
        OSError: the target cannot be written.
    """
    import gguf

    reader = gguf.GGUFReader(source)
    architecture = reader.fields[gguf.Keys.General.ARCHITECTURE].contents()
    writer = gguf.GGUFWriter(target, architecture)
    fields = dict(reader.fields)
    if tokenizer is not None:
        words = gguf.GGUFReader(tokenizer).fields
        fields = {key: field for key, field in fields.items() if not key.startswith(_TOKENIZER)}
        fields |= {key: field for key, field in words.items() if key.startswith(_TOKENIZER)}
    for key, field in fields.items():
        # The writer has put the architecture first.
        if _is_kept(key) and key not in {gguf.Keys.General.ARCHITECTURE, *facts}:
            kind = field.types[0]
            part = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(key, field.contents(), kind, part)
    for key, fact in facts.items():
        if isinstance(fact, str):
            writer.add_string(key, fact)
        elif isinstance(fact, bool):
            writer.add_bool(key, fact)
        else:
            writer.add_array(key, list(fact))
    _copy_tensors(reader, writer)


def read_metadata(file: Path) -> dict[str, str]:
    """Read the texts of a GGUF file under `general.`, by key without that prefix, such as `name`."""
    import gguf

    reader = gguf.GGUFReader(file)
    return {
        key.removeprefix("general."): field.contents()
        for key, field in reader.fields.items()
        if key.startswith("general.") and field.types[0] == gguf.GGUFValueType.STRING
    }


def count_weights(file: Path) -> int:
    """Count the weights in a GGUF file."""
    import gguf

    return sum(int(tensor.n_elements) for tensor in gguf.GGUFReader(file).tensors)


def _is_kept(key: str) -> bool:
    if key.startswith("GGUF."):  # the reader's names for the header
        return False
    return not key.startswith("general.") or key in _KEPT


def _copy_tensors(reader: "gguf.GGUFReader", writer: "gguf.GGUFWriter") -> None:
    for tensor in reader.tensors:
        data = tensor.data
        writer.add_tensor_info(tensor.name, data.shape, data.dtype, data.nbytes, tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in reader.tensors:
        writer.write_tensor_data(tensor.data)
    writer.close()
