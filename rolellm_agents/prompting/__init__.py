"""From a persona and a conversation to the messages that a model is sent."""
