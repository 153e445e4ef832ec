"""Read, write and convert character cards and lorebooks in all common formats, and activate lorebooks.

This package imports nothing from the rest of the project.

```python
from pathlib import Path
from rolellm_agents.cards import LoreScene, ScanMessage, activate, read_cards, to_png

(card,) = read_cards(Path("seraphina.png"))
found = activate([card.lorebook], LoreScene([ScanMessage("User", "What is Eldoria?", "user")]))
Path("copy.png").write_bytes(to_png(card, "v3"))
```

Cards are untrusted input: every error is a `CardError`, nothing is fetched from the network, no path leaves
its folder, and regular expressions and archives are limited in time and size.
"""

from rolellm_agents.cards.card import Asset, Card, Spec
from rolellm_agents.cards.diff import Change, diff
from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.lint.lint import CardFinding, lint, tokens_by_part
from rolellm_agents.cards.lore.activation import Activation, FiredLore, activate
from rolellm_agents.cards.lore.expressions import expressions_note
from rolellm_agents.cards.lore.lorebook import Lorebook, LoreEntry, read_lorebook
from rolellm_agents.cards.lore.scan import ScanMessage
from rolellm_agents.cards.lore.scene import LoreScene, LoreSettings
from rolellm_agents.cards.lore.state import LoreState
from rolellm_agents.cards.lore.trace import LoreTrace
from rolellm_agents.cards.macros import MacroScope, substitute, unknown_macros
from rolellm_agents.cards.reading import asset_bytes, read_cards, read_cards_of, read_lorebook_file
from rolellm_agents.cards.specs import convert, lost_fields
from rolellm_agents.cards.writing import CardSpec, to_json, to_png, write_charx

__all__ = [
    "Activation",
    "Asset",
    "Card",
    "CardError",
    "CardFinding",
    "CardSpec",
    "Change",
    "FiredLore",
    "LoreEntry",
    "LoreScene",
    "LoreSettings",
    "LoreState",
    "LoreTrace",
    "Lorebook",
    "MacroScope",
    "ScanMessage",
    "Spec",
    "activate",
    "asset_bytes",
    "convert",
    "diff",
    "expressions_note",
    "lint",
    "lost_fields",
    "read_cards",
    "read_cards_of",
    "read_lorebook",
    "read_lorebook_file",
    "substitute",
    "to_json",
    "to_png",
    "tokens_by_part",
    "unknown_macros",
    "write_charx",
]
