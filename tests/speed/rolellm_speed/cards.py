"""Measures how fast cards are read, and how much memory a large card needs (`rolellm bench cards`)."""

import base64
import json
import os
import tempfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rolellm_agents.cards.png import plain_picture, with_texts
from rolellm_agents.cards.reading import read_cards
from rolellm_agents.cards.writing import write_charx

_ENTRIES = 20
_WORDS = "The lamp burns herring oil, and the gulls on the rock know it before anybody else does. " * 6


def measure_reading(cards: int = 1_000, large_mib: int = 100) -> Mapping[str, float]:
    """Measure the time for many cards of each kind, and the memory for a CharX archive with large files.

    Args:
        cards: number of cards of each kind; each has a description of 3,000 characters and 20 entries.
        large_mib: size of the files in the large archive, in MiB.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        found: dict[str, float] = {"cards": cards}
        for kind, make in _MAKERS.items():
            files = [folder / f"{number}.{kind}" for number in range(cards)]
            for file in files:
                make(file)
            began = time.perf_counter()
            for file in files:
                (card,) = read_cards(file)
                assert card.lorebook is not None
            found[f"read_{kind}_s"] = round(time.perf_counter() - began, 3)
            for file in files:
                file.unlink()
        large = folder / "large.charx"
        _write_large(large, large_mib)
        found["large_charx_mib"] = round(large.stat().st_size / 2**20)
        found["large_charx_read_and_written_mib"] = _peak_of(_read_and_write, large)
        return found


def _document() -> dict[str, Any]:
    entries = [
        {
            "keys": [f"word{number}", "lamp"],
            "content": _WORDS,
            "extensions": {},
            "enabled": True,
            "insertion_order": number,
            "use_regex": False,
        }
        for number in range(_ENTRIES)
    ]
    data = {
        "name": "Ada",
        "description": _WORDS * 6,
        "first_mes": "Wipe your feet.",
        "character_book": {"extensions": {}, "entries": entries},
        "extensions": {},
    }
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}


def _make_json(file: Path) -> None:
    file.write_text(json.dumps(_document()))


def _make_png(file: Path) -> None:
    text = ("ccv3", base64.b64encode(json.dumps(_document()).encode()))
    file.write_bytes(with_texts(plain_picture(90, 90, 90, 64, 96), lambda _: False, [text], "card"))


def _make_charx(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("card.json", json.dumps(_document()))


_MAKERS: dict[str, Callable[[Path], None]] = {"json": _make_json, "png": _make_png, "charx": _make_charx}


def _write_large(file: Path, mib: int) -> None:
    """Write an archive of ten files that cannot be compressed."""
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("card.json", json.dumps(_document()))
        for number in range(10):
            archive.writestr(f"assets/other/{number}.bin", os.urandom(mib * 2**20 // 10))


def _read_and_write(file: Path) -> None:
    (card,) = read_cards(file)
    write_charx(card, file.with_suffix(".copy"))


def _peak_of(work: Callable[[Path], None], file: Path) -> float:
    """Peak of Python's own memory during a function call, in MiB."""
    tracemalloc.start()
    try:
        work(file)
        return round(tracemalloc.get_traced_memory()[1] / 2**20, 1)
    finally:
        tracemalloc.stop()
