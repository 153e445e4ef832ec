"""How many of our files, functions and calls a question passes on its way to the answer."""
