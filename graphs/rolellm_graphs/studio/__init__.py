"""Graph factories for `langgraph dev` and Studio, one module per graph; `langgraph.json` lists them.

The server calls a factory for every run with the run's `configurable` values, which are also the run's
context. The factory builds the graph; the server adds the checkpointer. Files are read in a thread, because
the server forbids blocking calls in its event loop. Importing these modules does not load a model.
"""
