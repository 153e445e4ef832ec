"""Sessions: one conversation with one persona, as a front end holds it."""
