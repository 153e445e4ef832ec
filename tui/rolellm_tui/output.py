"""Output of commands: results on stdout, messages on stderr, without control characters."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rolellm_agents.text import PlainStream, json_escaped, plain


def print_json(value: Any) -> None:
    """Print a JSON value, indented, with control characters escaped."""
    print(json_escaped(json.dumps(value, ensure_ascii=False, indent=2)))  # noqa: T201


def print_text(text: str, *, end: str = "\n") -> None:
    """Print text without control characters, and flush."""
    print(plain(text), end=end, flush=True)  # noqa: T201


class StreamedText:
    """Prints a text whose parts arrive one after the other, without control characters."""

    def __init__(self) -> None:
        self._stream = PlainStream()

    def print_part(self, part: str) -> None:
        """Print the next part, and flush."""
        _print_on(self._stream.more(part))

    def end(self, ending: str = "") -> None:
        """Print what is left, an ending, and a line break."""
        _print_on(f"{self._stream.rest()}{plain(ending)}\n")


def _print_on(text: str) -> None:
    print(text, end="", flush=True)  # noqa: T201


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print an aligned table. Wide Chinese characters are taken into account."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    # Without a terminal, each row is one line.
    width = None if sys.stdout.isatty() else 10_000
    Console(width=width, markup=False, highlight=False, soft_wrap=width is not None).print(table)


def complain(text: str) -> None:
    """Print a message on stderr."""
    print(f"rolellm: {plain(text)}", file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def counted_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on stderr if it is a terminal.

    Yields:
        A function that takes the number of finished items and the total.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def download_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show bytes, rate and remaining time on stderr if it is a terminal.

    Yields:
        A function that takes the number of received bytes and the total.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
