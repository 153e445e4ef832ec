"""Generators of role-playing data: Context-Instruct, RoleGPT, dialogues, rejection sampling."""
