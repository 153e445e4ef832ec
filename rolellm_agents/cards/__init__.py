"""Character cards and lorebooks."""
