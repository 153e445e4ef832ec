"""Character cards as personas, and personas as cards."""
