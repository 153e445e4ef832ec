"""The parts of the two generators of role-playing data, without their graphs: plans, schemas and parsers.

The generators are RoleLLM's second and third stage, RoleGPT and Context-Instruct (arXiv 2310.00746, §3.2
and §3.3). `docs/design/generators.md` explains the design.
"""
