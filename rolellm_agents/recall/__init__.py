"""Recall: retrieval of what a persona knows or has said that is relevant to the user's line."""

from rolellm_agents.recall.index import Hit, Index
from rolellm_agents.recall.lore import LoreRecall, recalled_lore
from rolellm_agents.recall.memories import memories_of
from rolellm_agents.recall.passages import Passage, demonstrations_of, knowledge_of, lore_of
from rolellm_agents.recall.recalled import (
    RecalledDemonstration,
    RecalledItem,
    RecalledLore,
    RecalledPassage,
)
from rolellm_agents.recall.recaller import (
    METHODS,
    IndexFactory,
    Method,
    Recaller,
    RecallOptions,
    make_index,
    method_named,
    method_names,
)

__all__ = [
    "METHODS",
    "Hit",
    "Index",
    "IndexFactory",
    "LoreRecall",
    "Method",
    "Passage",
    "RecallOptions",
    "RecalledDemonstration",
    "RecalledItem",
    "RecalledLore",
    "RecalledPassage",
    "Recaller",
    "demonstrations_of",
    "knowledge_of",
    "lore_of",
    "make_index",
    "memories_of",
    "method_named",
    "method_names",
    "recalled_lore",
]
