"""Runs: long work in a folder of its own that resumes where it stopped, within a budget."""
