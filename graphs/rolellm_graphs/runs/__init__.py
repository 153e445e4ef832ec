"""Model calls and the items of a run, shared by generators, judges and evaluation."""
