"""A process that writes into a transcript; run as a file, one JSON line on stdout for each thing stored.

`talk FILE CONVERSATION`: for each number on stdin, a process of its own that tells who it is and then
writes lines and streamed answers without end, each told after it is stored; when the number is not 0, it
kills itself after so many instructions of SQLite's machine, so in the middle of a change. How it died is
told, too. The processes are forked, so that each starts with the imports behind it.
`serve`: for each JSON request line on stdin, open or append, and tell how it went.
"""

import json
import os
import signal
import sys
import traceback
from itertools import count
from pathlib import Path
from typing import Any

from rolellm_agents.errors import StorageError
from rolellm_agents.transcript import Transcript

BOTH = ("user", "ada")


def tell(**told: Any) -> None:
    """One line, out of this process before anything else is written."""
    os.write(1, (json.dumps(told) + "\n").encode())


def die() -> int:
    """As from outside: nothing is cleaned up, nothing is written any more."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 1


def talkers(path: Path, conversation: str) -> None:
    """One after another, as stdin asks for them."""
    for steps in sys.stdin:
        process = os.fork()
        if process == 0:
            try:
                tell(did="start", process=os.getpid())
                talk(path, conversation, int(steps))
            finally:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(process, 0)
        tell(did="die", code=os.waitstatus_to_exitcode(status))


def talk(path: Path, conversation: str, steps: int) -> None:
    """Ask and answer for ever, going on from what is there."""
    with Transcript(path) as transcript:
        before = transcript.path(conversation)
        if steps:
            left = iter(range(steps))
            transcript._database.connection.set_progress_handler(
                lambda: 0 if next(left, None) is not None else die(), 1
            )
        last = before[-1].id if before else None
        for turn in count():
            text = f"{os.getpid()} asks {turn}"
            last = transcript.append(conversation, last, speaker="user", audience=BOTH, text=text).id
            tell(did="append", id=last, text=text)
            last = transcript.begin(conversation, last, speaker="ada", audience=BOTH)
            tell(did="begin", id=last)
            answer = ""
            for number in range(turn % 7):
                piece = f"{os.getpid()}.{turn}.{number} "
                transcript.add_piece(last, piece)
                answer += piece
                tell(did="piece", id=last, text=piece)
            transcript.end(last, answer, "complete")
            tell(did="end", id=last, text=answer)


def serve() -> None:
    """Do as each line of stdin says."""
    tell(did="start")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "append" in request:
                texts = _append(Path(request["path"]), request["shared"], request["append"])
                tell(did="append", texts=texts)
            else:
                with Transcript(Path(request["path"])) as transcript:
                    tell(did="open", conversation=transcript.create_conversation("ada"))
        except StorageError as error:
            tell(did="fail", error=str(error))


def _append(path: Path, shared: str, times: int) -> dict[str, list[str]]:
    """Write by turns into a conversation of our own and into the shared one; returns what by where."""
    with Transcript(path) as transcript:
        own = transcript.create_conversation("ada")
        written: dict[str, list[str]] = {own: [], shared: []}
        last: dict[str, str | None] = {own: None, shared: None}
        for number in range(times):
            for conversation in (own, shared):
                text = f"{os.getpid()} says {number}"
                said = transcript.append(
                    conversation, last[conversation], speaker="user", audience=BOTH, text=text
                )
                last[conversation] = said.id
                written[conversation].append(text)
        return written


if __name__ == "__main__":
    if sys.argv[1] == "talk":
        talkers(Path(sys.argv[2]), sys.argv[3])
    else:
        serve()
