"""`rolellm judge`: judge replies, pairs and scenes, and check judges."""
