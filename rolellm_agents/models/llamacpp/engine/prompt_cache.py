"""The computed beginnings of prompts, on disk: a second start need not read a persona again."""

import contextlib
import hashlib
import os
import struct
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

_MAGIC = b"rolellm-warm-1\n"
_DIGEST = 32


class PromptCache:
    """States of sequences as files of one folder, bounded in size; what is damaged counts as absent.

    A file is valid for one model file, one adapter, one way of computing and one run of tokens: all of
    them are in its name's hash.
    """

    def __init__(self, folder: Path, made_by: str, *, limit: int) -> None:
        """Use `folder`, which need not exist.

        Args:
            folder: where the files lie.
            made_by: everything a state depends on besides adapter and tokens.
            limit: bytes all files together may take; the least recently used go first.
        """
        self._folder = folder
        self._made_by = made_by
        self._limit = limit
        self._writer: threading.Thread | None = None

    def load(self, tokens: Sequence[int], adapter: str | None) -> bytes | None:
        """The state that was kept for these tokens, if there is one and it is whole."""
        file = self._file(tokens, adapter)
        try:
            content = file.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):  # a folder that can only be read serves, too
            os.utime(file)
        head = len(_MAGIC) + _DIGEST
        if content[:head] == _MAGIC + _digest(content[head:]):
            return content[head:]
        self.discard(tokens, adapter)
        return None

    def keep(self, tokens: Sequence[int], adapter: str | None, state: bytes) -> None:
        """Write a state, in a thread of its own: nobody waits for the disk."""
        if len(state) > self._limit:
            return
        self.wait()
        self._writer = threading.Thread(target=self._write, args=(self._file(tokens, adapter), state))
        self._writer.start()

    def discard(self, tokens: Sequence[int], adapter: str | None) -> None:
        """Remove what was kept for these tokens."""
        with contextlib.suppress(OSError):
            self._file(tokens, adapter).unlink()

    def wait(self) -> None:
        """Until what was given is written."""
        if self._writer:
            self._writer.join()

    def _file(self, tokens: Sequence[int], adapter: str | None) -> Path:
        name = hashlib.blake2b(self._made_by.encode(), digest_size=16)
        name.update((adapter or "no adapter").encode())
        name.update(struct.pack(f"<{len(tokens)}i", *tokens))
        return self._folder / f"{name.hexdigest()}.state"

    def _write(self, file: Path, state: bytes) -> None:
        # Without room or rights the next start is a cold one, which is no reason to disturb anybody.
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._make_room(len(state))
            with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".part", delete=False) as part:
                try:
                    part.write(_MAGIC + _digest(state) + state)
                    part.close()
                    Path(part.name).replace(file)
                except OSError:
                    Path(part.name).unlink()
                    raise

    def _make_room(self, wanted: int) -> None:
        """Remove the least recently used, and parts that a killed process left."""
        used = 0
        newest_first = sorted(self._folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in newest_first:
            used += file.stat().st_size
            if used + wanted > self._limit or file.suffix == ".part":
                file.unlink()


def _digest(state: bytes) -> bytes:
    return hashlib.blake2b(state, digest_size=_DIGEST).digest()
