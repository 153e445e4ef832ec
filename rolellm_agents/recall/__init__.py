"""What is looked up in a persona before it answers."""

from rolellm_agents.recall.bm25 import DemonstrationIndex
from rolellm_agents.recall.lore import LoreRecall, recalled_lore
from rolellm_agents.recall.placement import place_lore
from rolellm_agents.recall.recalled import RecalledDemonstration, RecalledItem, RecalledLore

__all__ = [
    "DemonstrationIndex",
    "LoreRecall",
    "RecalledDemonstration",
    "RecalledItem",
    "RecalledLore",
    "place_lore",
    "recalled_lore",
]
