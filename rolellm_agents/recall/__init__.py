"""What is looked up in a persona before it answers."""

from rolellm_agents.recall.bm25 import DemonstrationIndex
from rolellm_agents.recall.recalled import RecalledItem

__all__ = ["DemonstrationIndex", "RecalledItem"]
