"""Numbers of things, in words."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """“1 message”, “2,000 messages”; the plural is the noun with an s unless it is given."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {plural or f'{noun}s'}"
