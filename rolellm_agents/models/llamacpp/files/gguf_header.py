"""The header of a GGUF file, checked against the file's length before llama.cpp maps it.

llama.cpp trusts much of a header: some wrong values end the process instead of raising an error. The format
is that of ggml's specification (github.com/ggml-org/ggml/blob/master/docs/gguf.md), versions 2 and 3.
"""

import mmap
import struct
from math import prod
from pathlib import Path
from typing import Final, NamedTuple

from rolellm_agents.errors import ModelError

_VERSIONS: Final = (2, 3)
_LONGEST_KEY: Final = 65_535
_MOST_KEYS: Final = 100_000
_MOST_TENSORS: Final = 1_000_000
_MOST_DIMENSIONS: Final = 4
_LONGEST_NAME: Final = 63
_ALIGNMENT: Final = 32
_STRING, _ARRAY = 8, 9
_SIZES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of the value types of metadata with a fixed size."""
_WHOLE: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 10: "Q", 11: "q"}
"""The value types of whole numbers, with struct's letters."""
_TOKENS: Final = "tokenizer.ggml.tokens"
_MOST: Final = {"block_count": 512, "expert_count": 1024, "embedding_length": 1 << 20}
"""The largest value of keys that llama.cpp asserts (llama-hparams.h)."""
_BLOCKS: Final = {
    0: (1, 4),
    1: (1, 2),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    30: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    20: (32, 18),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    29: (256, 56),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
}
"""Weights and bytes of a block, by the type of a tensor (ggml.h, ggml-common.h)."""


class _BrokenError(Exception):
    """What is wrong with the header."""


class _Tensor(NamedTuple):
    name: str
    bytes: int
    offset: int


class _Reader:
    """Reads values from a mapped file, never beyond its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.place = 0

    def skip(self, count: int) -> None:
        if count < 0 or self.place + count > len(self.data):
            raise _BrokenError("it ends within its header")
        self.place += count

    def number(self, form: str) -> int:
        start = self.place
        self.skip(struct.calcsize(form))
        return int(struct.unpack_from(f"<{form}", self.data, start)[0])

    def text(self, longest: int) -> str:
        length = self.number("Q")
        if length > longest:
            raise _BrokenError("a name in its header is too long")
        start = self.place
        self.skip(length)
        return self.data[start : self.place].decode("utf-8", "replace")

    def bytes(self) -> bytes:
        """A text of any length, as it is."""
        length = self.number("Q")
        start = self.place
        self.skip(length)
        return self.data[start : self.place]

    def skip_value(self, kind: int) -> None:
        if kind == _STRING:
            self.skip(self.number("Q"))
        elif kind == _ARRAY:
            self._skip_array()
        elif kind in _SIZES:
            self.skip(_SIZES[kind])
        else:
            raise _BrokenError(f"its header has a value of the unknown type {kind}")

    def _skip_array(self) -> None:
        kind, count = self.number("I"), self.number("Q")
        if kind in _SIZES:
            self.skip(_SIZES[kind] * count)
        elif kind == _STRING:
            if count > (len(self.data) - self.place) // 8:
                raise _BrokenError("it ends within its header")
            for _ in range(count):
                self.skip(self.number("Q"))
        else:
            raise _BrokenError(f"its header has an array of the unknown type {kind}")


def check_header(path: Path) -> None:
    """Raise for a file whose header is damaged, or promises more than the file has.

    Raises:
        ModelError: the file cannot be used; the message says why.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _check(_Reader(data))
    except _BrokenError as error:
        raise ModelError(f"{path} is damaged: {error}; download it again, or use another file.") from error
    except ValueError as error:
        raise ModelError(f"{path} is empty; download it again.") from error
    except OSError as error:
        raise ModelError(f"The model file {path} cannot be read: {error.strerror}.") from error


def _check(reader: _Reader) -> None:
    reader.skip(4)
    version = reader.number("I")
    if version not in _VERSIONS:
        raise _BrokenError(f"its version {version} is none of {', '.join(map(str, _VERSIONS))}")
    tensors, keys = reader.number("q"), reader.number("q")
    if not 0 <= tensors <= _MOST_TENSORS or not 0 <= keys <= _MOST_KEYS:
        raise _BrokenError("its header promises too many entries")
    alignment = _read_metadata(reader, keys).get("general.alignment", _ALIGNMENT)
    if not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
        raise _BrokenError(f"its alignment {alignment} is no power of two")
    infos = [_tensor(reader) for _ in range(tensors)]
    names = {info.name for info in infos}
    if len(names) < len(infos):
        raise _BrokenError("two of its tensors have the same name")
    start = -(-reader.place // alignment) * alignment
    for info in infos:
        if info.offset % alignment or start + info.offset + info.bytes > len(reader.data):
            raise _BrokenError(f"its tensor {info.name[:60]!r} lies beyond the end of the file")


def _read_metadata(reader: _Reader, keys: int) -> dict[str, int]:
    """Check the metadata, and return its whole numbers."""
    numbers: dict[str, int] = {}
    seen: set[str] = set()
    for _ in range(keys):
        key = reader.text(_LONGEST_KEY)
        if key in seen:
            raise _BrokenError(f"its header has {key[:60]!r} twice")
        seen.add(key)
        kind = reader.number("I")
        if kind in _WHOLE:
            numbers[key] = reader.number(_WHOLE[kind])
        elif key == _TOKENS:
            _check_tokens(reader, kind)
        else:
            reader.skip_value(kind)
    for key, most in _MOST.items():
        for name, value in numbers.items():
            if name.endswith(f".{key}") and not 0 < value <= most:
                raise _BrokenError(f"its {name} is {value}")
    return numbers


def _check_tokens(reader: _Reader, kind: int) -> None:
    """Reject a vocabulary with the same token twice, which ends llama.cpp's process."""
    if kind != _ARRAY or reader.number("I") != _STRING:
        raise _BrokenError("its vocabulary is no list of texts")
    count = reader.number("Q")
    if count > (len(reader.data) - reader.place) // 8:
        raise _BrokenError("it ends within its header")
    # llama.cpp reads a token up to its first zero byte, and names empty ones itself.
    tokens = [token for _ in range(count) if (token := reader.bytes().partition(b"\0")[0])]
    if len(set(tokens)) < len(tokens):
        raise _BrokenError("its vocabulary has a token twice")


def _tensor(reader: _Reader) -> _Tensor:
    name = reader.text(_LONGEST_NAME)
    dimensions = reader.number("I")
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise _BrokenError(f"its tensor {name!r} has {dimensions} dimensions")
    shape = [reader.number("q") for _ in range(dimensions)]
    kind, offset = reader.number("I"), reader.number("Q")
    if kind not in _BLOCKS:
        # A later format, whose size llama.cpp knows.
        return _Tensor(name, 0, offset)
    weights, size = _BLOCKS[kind]
    count = prod(shape)
    if min(shape) < 1 or count > 1 << 48 or shape[0] % weights:
        raise _BrokenError(f"its tensor {name!r} has the shape {shape}")
    return _Tensor(name, count // weights * size, offset)
