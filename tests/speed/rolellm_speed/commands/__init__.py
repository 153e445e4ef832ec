"""The commands of `rolellm bench`."""
