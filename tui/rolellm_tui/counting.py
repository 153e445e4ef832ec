"""Numbers of things, in words."""


def counted(count: int, noun: str) -> str:
    """“1 message”, “2,000 messages”."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
