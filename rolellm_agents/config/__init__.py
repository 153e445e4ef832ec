"""The user's settings and the folders in which files live."""
