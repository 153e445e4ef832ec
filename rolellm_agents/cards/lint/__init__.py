"""The card linter: what breaks the specification, what other programs drop, what may do harm."""
