"""Blind reading: people compare answers without knowing which system gave them."""
