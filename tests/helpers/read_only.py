"""Folders that cannot be written, by root neither, whom only a read-only mount holds back."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nothing in a folder be written meanwhile; skips the test where root may not mount."""
    if os.geteuid() == 0:
        with _mounted_read_only(folder):
            yield
        return
    files = list(folder.rglob("*"))
    modes = [(place, place.stat().st_mode) for place in (folder, *files)]
    for place, mode in modes:
        place.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for place, mode in modes:
            place.chmod(mode)


@contextmanager
def _mounted_read_only(folder: Path) -> Iterator[None]:
    for options in ("bind", "remount,bind,ro"):
        try:
            mounted = subprocess.run(
                ("mount", "-o", options, str(folder), str(folder)), capture_output=True, check=False
            )
        except FileNotFoundError:
            pytest.skip("there is no mount")
        if mounted.returncode:
            subprocess.run(("umount", str(folder)), capture_output=True, check=False)
            pytest.skip("this root may not mount a folder read-only")
    try:
        yield
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), capture_output=True, check=True)
