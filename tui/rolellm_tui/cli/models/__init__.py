"""`rolellm models`: list models, and upload exported ones."""
