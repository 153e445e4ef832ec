"""What the two generators of role-playing data are made of, apart from any graph: plans, forms, labels.

RoleLLM's second and third stage, RoleGPT and Context-Instruct (arXiv 2310.00746, §3.2 and §3.3);
`docs/design/generators.md` says why each part is as it is.
"""
