"""Fuzzers of the readers of untrusted files.

Each `fuzz_NAME.py` has `seeds()`, good files to begin with, and `one_input(content)`, which reads a content
and does all that follows; it catches only errors for the user. `make fuzz FUZZ=NAME` runs it with atheris,
guided by coverage. `mutations.py` runs it on random changes of the seeds and needs no other package; so
does `test_mutations.py`, for a few hundred changes.
"""
