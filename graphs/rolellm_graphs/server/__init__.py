"""Personas and scenes behind an OpenAI-compatible API; needs the extra `serve`.

A request is parsed by `wire`; `names` reads its `model` field, and `agents` finds the persona or scene that
answers. The parts of the answer (`answers`) become a response in `wire`, complete or streamed. The
middleware in `limits` runs before all of this.
"""
