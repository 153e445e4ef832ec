"""What is the same for the same words: seeds of single items, digests of what they are made from."""

import hashlib


def seed_of(seed: int, key: str, tries: int = 0) -> int:
    """A number of 31 bits.

    Args:
        seed: the run's.
        key: the item's.
        tries: how often it was tried before.
    """
    digest = hashlib.sha256(f"{seed}/{key}/{tries}".encode()).digest()
    return int.from_bytes(digest[:4]) >> 1


def digest_of(text: str) -> str:
    """Short enough to be read, long enough never to meet twice."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
