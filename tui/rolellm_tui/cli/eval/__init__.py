"""`rolellm eval`: the quality of models and replies."""
