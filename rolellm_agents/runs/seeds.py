"""Deterministic seeds of items, and digests of texts."""

import hashlib


def seed_of(seed: int, key: str, tries: int = 0) -> int:
    """The seed of one item, a number of 31 bits. `tries` is how often the item was tried before."""
    digest = hashlib.sha256(f"{seed}/{key}/{tries}".encode()).digest()
    return int.from_bytes(digest[:4]) >> 1


def digest_of(text: str) -> str:
    """The first 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
