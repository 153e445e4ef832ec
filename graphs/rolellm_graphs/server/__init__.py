"""Personas and scenes behind an OpenAI-compatible API; needs the extra `serve`.

request → `wire` (what was asked) → `names` (who is meant) → `agents` (who answers) → parts of an answer
(`answers`, from a persona or a scene) → `wire` again, whole or streamed. `limits` stands before all of it.
"""
