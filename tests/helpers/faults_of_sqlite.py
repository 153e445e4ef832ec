"""Faults below SQLite: strace lets one of its system calls fail, or the system limits the size of files."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

CALLS = ("pwrite64", "fdatasync", "ftruncate", "unlink", "pread64")
_TALK = """
import json, os, resource, sys
from pathlib import Path
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.transcript import Transcript
def tell(**told):
    os.write(1, (json.dumps(told) + "\\n").encode())
if int(sys.argv[2]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
both = ("user", "ada")
try:
    with Transcript(Path(sys.argv[1])) as transcript:
        (summary,) = transcript.conversations()
        path = transcript.path(summary.id)
        last = path[-1].id
        for turn in range(3):
            text = f"line {turn} " * 150
            last = transcript.append(summary.id, last, speaker="user", audience=both, text=text).id
            tell(id=last, text=text)
            last = transcript.begin(summary.id, last, speaker="ada", audience=both)
            words = [f"w{turn}.{number} " for number in range(3)]
            for number, word in enumerate(words):
                transcript.add_piece(last, word)
                tell(id=last, text="".join(words[: number + 1]))
            transcript.end(last, "".join(words), "complete")
        transcript.rename(summary.id, "A title")
        tell(title="A title")
except RoleLLMError as error:
    tell(error=str(error))
"""


@dataclass(frozen=True)
class Talk:
    """What a process told before it ended."""

    texts: dict[str, str]
    title: str
    error: str


def talk(file: Path, *, strace: Sequence[str] = (), limit: int = 0) -> Talk:
    """Go on with the one conversation of a file; nothing but a sentence of ours may end it early."""
    command = (*strace, sys.executable, "-c", _TALK, str(file), str(limit))
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    return Talk(
        texts={one["id"]: one["text"] for one in told if "id" in one},
        title="".join(one.get("title", "") for one in told),
        error="".join(one.get("error", "") for one in told),
    )


def strace_of(file: Path, trace: Path, *inject: str) -> list[str]:
    """The beginning of a command that traces the calls on a transcript's files."""
    if shutil.which("strace") is None:
        pytest.skip("there is no strace")
    files = [option for end in ("", "-wal", "-journal") for option in ("-P", f"{file}{end}")]
    faults = [option for one in inject for option in ("-e", f"inject={one}")]
    return ["strace", "-f", "-qq", "-e", f"trace={','.join(CALLS)}", *faults, *files, "-o", str(trace)]


def calls_of(file: Path, trace: Path) -> Iterator[tuple[str, int]]:
    """Each call of a talk, with its number among those of its name; skips where strace may not trace."""
    ran = subprocess.run(("strace", "-qq", "-o", str(trace), "true"), capture_output=True, check=False)
    if ran.returncode:
        pytest.skip("strace may not trace here")
    assert talk(file, strace=strace_of(file, trace)).error == ""
    names = [line.split("(")[0].split()[-1] for line in trace.read_text().splitlines() if "(" in line]
    for name, count in Counter(one for one in names if one in CALLS).items():
        yield from ((name, number) for number in range(1, count + 1))
