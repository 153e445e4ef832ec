"""A real terminal: the `rolellm` command inside tmux."""

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from helpers.commands import COMMAND

_PATIENCE = 90.0


class Terminal:
    """One pane, 100 by 30, with the command running in it."""

    def __init__(self, socket: Path, exit_file: Path) -> None:
        """Speak to the server behind `socket`; the command's exit code comes to `exit_file`."""
        self._socket = socket
        self._exit_file = exit_file

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names, as in `Enter` or `C-q`."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type text as it is."""
        self._tmux("send-keys", "-l", text)

    def screen(self) -> str:
        """What stands on the screen."""
        return self._tmux("capture-pane", "-p")

    def paste(self, text: str) -> None:
        """Paste, as a terminal does it that tells pasted text from typed text."""
        self._tmux("set-buffer", text)
        self._tmux("paste-buffer", "-p")

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def set_option(self, name: str, value: str) -> None:
        """Set an option of tmux's server."""
        self._tmux("set-option", "-s", name, value)

    def behind(self) -> None:
        """Show another window, so that tmux remembers whether the bell rings."""
        self._tmux("new-window", "sleep 600")

    def rang(self) -> bool:
        """Whether the bell has rung since the window was put `behind` another one."""
        return "1" in self._tmux("list-windows", "-F", "#{window_bell_flag}")

    def buffer(self) -> str:
        """What programs have put into tmux's clipboard last."""
        return self._tmux("show-buffer")

    def wait_for(self, *texts: str) -> str:
        """Wait until all of `texts` stand on the screen, and return it."""
        deadline = time.monotonic() + _PATIENCE
        while not all(text in (seen := self.screen()) for text in texts):
            assert time.monotonic() < deadline, f"{texts} never came:\n{seen}"
            time.sleep(0.05)
        return seen

    def exit_code(self) -> int:
        """Wait for the command's end."""
        deadline = time.monotonic() + _PATIENCE
        while not (self._exit_file.exists() and self._exit_file.read_text(encoding="utf-8").strip()):
            assert time.monotonic() < deadline, f"it never ended:\n{self.screen()}"
            time.sleep(0.05)
        return int(self._exit_file.read_text(encoding="utf-8"))

    def memory(self) -> int:
        """Bytes of memory of the command and its processes."""
        shell = psutil.Process(int(self._tmux("list-panes", "-F", "#{pane_pid}")))
        return sum(process.memory_info().rss for process in shell.children(recursive=True))

    def close(self) -> None:
        """Close the terminal, as somebody does who closes its window; safe to call twice."""
        subprocess.run(_tmux(self._socket, "kill-server"), capture_output=True, check=False)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            _tmux(self._socket, *arguments), capture_output=True, check=True, encoding="utf-8"
        )
        return done.stdout


@contextmanager
def terminal(*arguments: str) -> Iterator[Terminal]:
    """Run `rolellm` with some arguments in a terminal of its own, with this process's environment."""
    # A socket's path must be short, which a test's own folder need not be.
    with tempfile.TemporaryDirectory(prefix="rolellm-") as folder:
        socket, exit_file = Path(folder) / "tmux", Path(folder) / "exit"
        command = f"{shlex.join((*COMMAND, *arguments))}; echo $? > {exit_file}; exec sleep 600"
        subprocess.run(
            _tmux(socket, "-f", os.devnull, "new-session", "-d", "-x", "100", "-y", "30", command),
            # A size in the environment would count for more than the pane's. Without an environment the
            # library readline, which pytest loads, hands on a size of its own.
            env={name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")},
            check=True,
        )
        opened = Terminal(socket, exit_file)
        try:
            yield opened
        finally:
            opened.close()


def _tmux(socket: Path, *arguments: str) -> tuple[str, ...]:
    return ("tmux", "-u", "-S", str(socket), *arguments)
