"""Personas and scenes as agents of the A2A protocol; needs the extra `a2a`.

`cards` describes the agents, `executor` answers their messages, and `interface` adds both to the server.
Conversations, limits, keys and errors are those of `server`.
"""
