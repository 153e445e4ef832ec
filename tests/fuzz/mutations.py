"""Random changes of good files: `python tests/fuzz/mutations.py NAME SEED COUNT`.

A crash is printed with its number and written to a file; NAME, SEED and its number make it again.
"""

import importlib
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

TARGETS = ("cards", "personas", "packs", "scenes", "chats", "schemas", "requests")
_TOLD = 5_000
"""Inputs between two lines about the progress."""
TOKENS = (
    *(b"", b"\0", b"\n", b"\r\n", b"\t", b" ", b"  ", b"- ", b": ", b"? ", b", ", b"#", b"|\n ", b">-\n "),
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b"[]",
        b"{}",
        b'"',
        b"'",
        b"\\",
        b"\\u0000",
        b"\\ud800",
        b"\xff",
        b"\xed\xa0\x80",
    ),
    *(b"null", b"~", b"true", b"yes", b"0", b"-1", b"1.5", b"1e999", b".inf", b".nan", b"NaN", b"Infinity"),
    *(
        b"9" * 400,
        b"0x" + b"f" * 400,
        b"1:30",
        b"1_000",
        b"2001-99-99",
        b"0o17",
        b"=",
        b"<<",
        b"%YAML 1.1\n",
    ),
    *(b"&a ", b"*a", b"!!int ", b"!!binary ", b"!!set ", b"!!python/name:os.system ", b"---\n", b"...\n"),
    *(
        b"../",
        b"/dev/zero",
        b"a/" * 60,
        b".yaml",
        b".png",
        b"\xef\xbb\xbf",
        b"\xe2\x80\x8b",
        b"\xf3\xa0\x81\x81",
    ),
    *(b"{{user}}", b"{{random:a,b}}", b"{{", b"}}", b"<START>", b"@@depth 2\n", b"/(a+)+$/", b"/a/i"),
    *(b"PK\x03\x04", b"PK\x05\x06", b"\x89PNG\r\n\x1a\n", b"IEND", b"zTXt", b"\xff\xd8\xff"),
)


def mutated(seeds: list[bytes], rng: random.Random) -> bytes:
    """One of the seeds with one to six changes."""
    content = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(content) + 1)
        end = min(len(content), place + rng.choice((1, 1, 2, 4, 8, 32)))
        match rng.randrange(7):
            case 0:
                content[place:end] = bytes(rng.randrange(256) for _ in range(end - place))
            case 1:
                content[place:end] = b""
            case 2:
                content[place:place] = rng.choice(TOKENS)
            case 3:
                content[place:end] = rng.choice(TOKENS)
            case 4:
                content[place:place] = content[place:end] * rng.choice((1, 2, 50))
            case 5:
                other = rng.choice(seeds)
                start = rng.randrange(len(other) + 1)
                content[place:end] = other[start : start + rng.choice((4, 16, 64))]
            case _:
                del content[place if rng.random() < 0.1 else len(content) :]
    return bytes(content[:100_000])


def run(target: Any, seed: int, count: int, crashes: Path | None = None) -> Mapping[str, int]:
    """Give a fuzzer mutated seeds; returns how many crashed by the kind of error.

    Args:
        target: the fuzzer's module.
        seed: of the changes; the same seed makes the same inputs.
        count: the number of inputs.
        crashes: the folder for inputs that crash; the first crash is raised when None.
    """
    seeds = list(target.seeds().values())
    for content in seeds:
        target.one_input(content)
    found: dict[str, int] = {}
    for number in range(count):
        if crashes is not None and number and number % _TOLD == 0:
            print(f"{number:,} inputs", file=sys.stderr, flush=True)
        content = mutated(seeds, random.Random(f"{seed} {number}"))
        try:
            target.one_input(content)
        except Exception as error:
            if crashes is None:
                error.add_note(f"The input is number {number} of the seed {seed}.")
                raise
            kind = f"{type(error).__name__} at {_where(error)}"
            found[kind] = found.get(kind, 0) + 1
            if found[kind] == 1:
                print(f"number {number}: {error!r:.200}")
                traceback.print_exc()
                (crashes / f"crash-{number}").write_bytes(content)
    return found


def _where(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def main(name: str, seed: int, count: int) -> None:
    """Run one fuzzer in a home of its own, and print what it found."""
    crashes = Path(".fuzz")
    crashes.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rolellm-fuzz-") as home:
        os.environ["ROLELLM_HOME"] = home
        target = importlib.import_module(f"fuzz.fuzz_{name}")
        begun = time.monotonic()
        found = run(target, seed, count, crashes)
    print(f"{name}: {count:,} inputs in {time.monotonic() - begun:.0f} s, {sum(found.values()):,} crashes")
    for kind, times in found.items():
        print(f"  {times:,} × {kind}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
