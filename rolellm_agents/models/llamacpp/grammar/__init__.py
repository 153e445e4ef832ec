"""Grammars: from JSON Schema to llama.cpp's GBNF, and from anywhere in a text to its nearest end."""
