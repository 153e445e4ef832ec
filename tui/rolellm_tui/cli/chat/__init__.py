"""`rolellm chat`, `say`, `recall` and `history`: conversations with one persona."""
