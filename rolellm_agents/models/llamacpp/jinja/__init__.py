"""Jinja for templates of strangers: a rendering ends soon and stays small, or is refused."""
