"""Load many damaged GGUF files in a process that must survive: `mutated_gguf.py FILE SEED COUNT`."""

import random
import struct
import sys
from pathlib import Path

NUMBERS = (0, 1, 2, 3, 4, 5, 8, 9, 31, 63, 64, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1)
"""Values at which sizes and types break."""


def header_length(content: bytes) -> int:
    """Roughly where the weights begin: after the last tensor's name."""
    return min(len(content), content.rfind(b"weight") + 64)


def mutated(content: bytes, length: int, rng: random.Random) -> bytes:
    """The file with one to four changes within its header, or cut short."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(4, length)
        match rng.randrange(4):
            case 0:
                changed[place] = rng.randrange(256)
            case 1:
                changed[place : place + 4] = struct.pack("<I", rng.choice(NUMBERS) % 2**32)
            case 2:
                changed[place : place + 8] = struct.pack("<Q", rng.choice(NUMBERS))
            case _:
                del changed[place : place + rng.randint(1, 9)]
    return bytes(changed[: rng.randrange(4, len(changed))] if rng.random() < 0.1 else changed)


def main(file: Path, seed: int, count: int) -> None:
    """Load mutations one after the other, and print what became of them."""
    from rolellm_agents.errors import ModelError
    from rolellm_agents.models.llamacpp.files.gguf_header import check_header
    from rolellm_agents.models.llamacpp.model import LlamaModel

    content = file.read_bytes()
    length = header_length(content)
    refused = loaded = failed = 0
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        place = file.with_name("mutated.gguf")
        place.write_bytes(mutated(content, length, rng))
        print(number, file=sys.stderr, flush=True)
        try:
            check_header(place)
        except ModelError:
            refused += 1
            continue
        try:
            LlamaModel(place)
            loaded += 1
        except ModelError:
            failed += 1
    print(f"{refused} refused by us, {failed} by llama.cpp, {loaded} loaded")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
