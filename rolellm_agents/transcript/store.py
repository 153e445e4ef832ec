"""`Transcript`: read and append; nothing said is ever overwritten.

Any number of processes may hold the same file: SQLite's write-ahead log lets them read while one
writes. Within a process the threads take turns. Whatever was written survives the end of the process,
however it ends; a power cut may take what came after the last finished answer, since only the end of an
answer waits for the disk.
"""

from rolellm_agents.transcript.conversations import MAIN
from rolellm_agents.transcript.records import Records
from rolellm_agents.transcript.searching import Searching

__all__ = ["MAIN", "Transcript"]


class Transcript(Records, Searching):
    """All conversations of one data folder."""
