"""The user's settings, and the folders of the user's files."""
