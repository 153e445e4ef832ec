"""The graphs as `langgraph dev` and Studio open them, one file a graph; `langgraph.json` names them all.

Each is called for every run with what was chosen for it (`configurable`, which the server also gives as the
run's context), builds the graph, and leaves checkpoints to the server. What it reads, it reads in a thread:
the server refuses to wait for a file in its event loop. Loading these modules loads no model.
"""
