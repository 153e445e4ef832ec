"""The regular expressions of lorebooks, of which only a limited number is searched at each message."""

from collections.abc import Sequence

from rolellm_agents.cards.lore.candidate import candidates
from rolellm_agents.cards.lore.keys import PatternSearch
from rolellm_agents.cards.lore.lorebook import Lorebook
from rolellm_agents.cards.lore.scene import LoreScene, LoreSettings


def expressions_note(books: Sequence[Lorebook]) -> str:
    """A sentence if the lorebooks have more regular expressions than are searched; otherwise empty."""
    entries = (one for one in candidates(books, LoreScene(()), LoreSettings()) if one.entry.enabled)
    sources = {key.text: key.source for one in entries for key in one.all_keys if key.source is not None}
    length = sum(map(len, sources.values()))
    if len(sources) <= PatternSearch.MOST and length <= PatternSearch.COMPILED:
        return ""
    return (
        f"The lorebook has {len(sources):,} regular expressions with {length:,} characters; at most "
        f"{PatternSearch.MOST:,} with {PatternSearch.COMPILED:,} characters are searched at each message, "
        "so some keys are never found."
    )
