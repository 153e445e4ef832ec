"""`rolellm persona`: the cast, cards, packs, and personas built from scripts."""
