"""`rolellm train` and `rolellm export`."""
