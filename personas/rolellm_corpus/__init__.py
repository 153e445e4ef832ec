"""The cast's corpus: conversations and scenes of the bundled personas, data only."""
