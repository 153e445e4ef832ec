"""Errors of cards and lorebooks."""


class CardError(Exception):
    """A card or lorebook cannot be read or written; the message names the problem and the next step."""
