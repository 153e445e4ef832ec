"""A process of the benchmark ends when the one that started it is gone; imports nothing heavy."""

import os
import threading


class ParentWatch:
    """Watches standard input, whose other end the parent holds open as long as it lives.

    The system closes that end whatever the parent dies of, `kill -9` included. The parent closes it when
    it has no further use for this process.
    """

    def __init__(self) -> None:
        """Begin to watch."""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="parent-watch", daemon=True)
        self._thread.start()

    def let_end(self) -> None:
        """From now on the parent may let this process go; call it before the parent gets its answer."""
        self._done.set()

    def wait(self) -> None:
        """Stay until the parent lets go, since it looks first at how much this process has computed."""
        self._thread.join()

    def _watch(self) -> None:
        # Not through sys.stdin: a thread that holds its lock disturbs the end of the interpreter.
        while os.read(0, 4096):
            pass
        if not self._done.is_set():
            os._exit(1)
