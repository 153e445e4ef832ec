"""What is told when a card or lorebook cannot be read or written."""


class CardError(Exception):
    """A card or lorebook that cannot be used: one sentence that names the thing and the next step."""
