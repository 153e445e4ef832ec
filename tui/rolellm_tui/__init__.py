"""The `rolellm` command and the terminal app."""
