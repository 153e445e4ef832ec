"""`rolellm data`: generate, check, merge, split and convert data sets."""
