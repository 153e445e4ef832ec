"""The prompt cache on disk: computed prompt prefixes, so that a restart need not prefill a persona."""

import contextlib
import hashlib
import os
import struct
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from rolellm_agents.config.paths import make_folder
from rolellm_agents.errors import StorageError

_MAGIC = b"rolellm-warm-1\n"
_DIGEST = 32


class PromptCache:
    """Saved states of sequences in a folder of limited size; damaged files count as missing.

    A file is valid for one model file, one adapter, one computation method and one list of tokens. The hash
    in its name covers all of them.
    """

    def __init__(self, folder: Path, made_by: str, *, limit: int) -> None:
        """Use `folder`, which need not exist.

        `made_by` is everything that a state depends on besides adapter and tokens. `limit` is the most
        bytes of all files; the least recently used ones are removed first.
        """
        self._folder = folder
        self._made_by = made_by
        self._limit = limit
        self._writer: threading.Thread | None = None

    def load(self, tokens: Sequence[int], adapter: str | None) -> bytes | None:
        """The saved state for these tokens; None if it is missing or damaged."""
        file = self._file(tokens, adapter)
        try:
            content = file.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):  # the folder may be read-only
            os.utime(file)
        head = len(_MAGIC) + _DIGEST
        if content[:head] == _MAGIC + _digest(content[head:]):
            return content[head:]
        self.discard(tokens, adapter)
        return None

    def keep(self, tokens: Sequence[int], adapter: str | None, state: bytes) -> None:
        """Write a state in a separate thread, so that the engine does not wait for the disk."""
        if len(state) > self._limit:
            return
        self.wait()
        self._writer = threading.Thread(target=self._write, args=(self._file(tokens, adapter), state))
        self._writer.start()

    def discard(self, tokens: Sequence[int], adapter: str | None) -> None:
        """Remove the saved state for these tokens."""
        with contextlib.suppress(OSError):
            self._file(tokens, adapter).unlink()

    def wait(self) -> None:
        """Wait until the last state is written."""
        if self._writer:
            self._writer.join()

    def _file(self, tokens: Sequence[int], adapter: str | None) -> Path:
        name = hashlib.blake2b(self._made_by.encode(), digest_size=16)
        name.update((adapter or "no adapter").encode())
        name.update(struct.pack(f"<{len(tokens)}i", *tokens))
        return self._folder / f"{name.hexdigest()}.state"

    def _write(self, file: Path, state: bytes) -> None:
        # Errors are ignored: without a saved state, the next start only takes longer.
        with contextlib.suppress(OSError, StorageError):
            make_folder(self._folder)
            self._make_room(len(state))
            with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".part", delete=False) as part:
                try:
                    part.write(_MAGIC + _digest(state) + state)
                    part.close()
                    Path(part.name).replace(file)
                except OSError:
                    Path(part.name).unlink()
                    raise

    def _make_room(self, needed: int) -> None:
        """Remove the least recently used files, and temporary files of killed processes."""
        used = 0
        newest_first = sorted(self._folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in newest_first:
            used += file.stat().st_size
            if used + needed > self._limit or file.suffix == ".part":
                file.unlink()


def _digest(state: bytes) -> bytes:
    return hashlib.blake2b(state, digest_size=_DIGEST).digest()
