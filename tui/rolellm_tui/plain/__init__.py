"""`rolellm chat --plain`: a conversation as lines of text."""
