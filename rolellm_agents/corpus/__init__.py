"""The cast's corpus: conversations and scenes that were written for training and evaluation."""
