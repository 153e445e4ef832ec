"""Ends a child process when its parent is gone; imports no large modules."""

import os
import threading


class ParentWatch:
    """Watches standard input, whose other end the parent keeps open while it runs.

    The system closes that end however the parent ends, also by `kill -9`. The parent closes it when it no
    longer needs this process.
    """

    def __init__(self) -> None:
        """Start watching."""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="parent-watch", daemon=True)
        self._thread.start()

    def let_end(self) -> None:
        """Allow the parent to close the pipe from now on; call it before the parent receives the answer."""
        self._done.set()

    def wait(self) -> None:
        """Wait until the parent closes the pipe, because it first reads this process's CPU time."""
        self._thread.join()

    def _watch(self) -> None:
        # Not through sys.stdin: a thread that holds its lock disturbs the interpreter's shutdown.
        while os.read(0, 4096):
            pass
        if not self._done.is_set():
            os._exit(1)
