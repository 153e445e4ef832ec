"""The `rolellm` command: one package for each group of commands."""
