"""A linter for cards: violations of the specification, data that other programs drop, and risks."""
