"""Prompts: from a persona and a conversation to the messages for a model."""
