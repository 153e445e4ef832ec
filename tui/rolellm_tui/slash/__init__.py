"""Commands that are typed after a slash."""
