"""Rows, tokens and packed batches for training."""
