"""Personas and scenes for clients of the Model Context Protocol; needs the extra `mcp`.

`tools`, `prompts` and `cards` are what clients get, `handlers` connects them with the official SDK, and
`stdio` and `http` are the two transports. Conversations, limits and errors are those of `server`.
"""
