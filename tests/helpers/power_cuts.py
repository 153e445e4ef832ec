"""Power cuts: a program's writes are recorded with strace, and files are built as a cut would leave them.

What was written and not flushed may be on the disk or not, in any order, and the last write in part.
"""

import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

_CALLS = "pwrite64,write,fdatasync,fsync,ftruncate,unlink"
_LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (\d+)$")
_ON_FILE = re.compile(r'^(\d+)<([^>]*)>(?:, "((?:\\x..)*)", \d+(?:, (\d+))?|, (\d+))?$')
_SECTOR = 512


@dataclass(frozen=True)
class Step:
    """One thing that a program did."""

    did: Literal["write", "flush", "truncate", "remove", "say"]
    file: str
    offset: int = 0
    content: bytes = b""


def recorded(command: Sequence[str], trace: Path) -> list[Step]:
    """What a program did to files, and what it printed; skips the test where there is no strace."""
    if shutil.which("strace") is None:
        pytest.skip("there is no strace")
    strace = ("strace", "-f", "-y", "-xx", "-s", "1000000", "-e", f"trace={_CALLS}", "-o", str(trace))
    ran = subprocess.run((*strace, *command), capture_output=True, text=True, check=False)
    if "ptrace" in ran.stderr:
        pytest.skip("strace may not trace here")
    assert ran.returncode == 0, ran.stderr
    return [step for line in trace.read_text(encoding="ascii").splitlines() for step in _steps(line)]


def _steps(line: str) -> Iterator[Step]:
    call = _LINE.match(line)
    if call is None:
        return
    name, arguments = call[1], call[2]
    if name == "unlink":
        yield Step("remove", bytes.fromhex(arguments.strip('"').replace("\\x", "")).decode())
        return
    on = _ON_FILE.match(arguments)
    if on is None:
        return
    file = bytes.fromhex(on[2].replace("\\x", "")).decode() if on[2].startswith("\\x") else on[2]
    content = bytes.fromhex((on[3] or "").replace("\\x", ""))
    if name == "pwrite64":
        yield Step("write", file, int(on[4]), content)
    elif name in ("fdatasync", "fsync"):
        yield Step("flush", file)
    elif name == "ftruncate":
        yield Step("truncate", file, int(on[5]))
    elif on[1] == "1":
        yield Step("say", file, content=content)


def files_after_a_cut(steps: Sequence[Step], chance: random.Random) -> dict[str, bytes]:
    """The files as a power cut after these steps may leave them."""
    kept = chance.choice((0.0, 0.5, 1.0))
    """How probable it is that a write that was not flushed is on the disk."""
    flushed = {step.file: number for number, step in enumerate(steps) if step.did == "flush"}
    files: dict[str, bytearray] = {}
    for number, step in enumerate(steps):
        # A file is removed from its folder, so it is the folder that must be flushed.
        place = str(Path(step.file).parent) if step.did == "remove" else step.file
        is_safe = number < flushed.get(place, -1)
        if step.did in ("say", "flush") or not (is_safe or chance.random() < kept):
            continue
        content = step.content
        if not is_safe and chance.random() < 0.2:
            content = content[: chance.randrange(0, len(content) + 1, _SECTOR)]  # torn between two sectors
        if step.did == "remove":
            files.pop(step.file, None)
        elif step.did == "truncate":
            file = files.setdefault(step.file, bytearray())
            del file[step.offset :]
        else:
            file = files.setdefault(step.file, bytearray())
            file.extend(bytes(max(0, step.offset + len(content) - len(file))))
            file[step.offset : step.offset + len(content)] = content
    return {name: bytes(content) for name, content in files.items()}
