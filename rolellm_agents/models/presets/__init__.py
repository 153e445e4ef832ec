"""Sampler presets: named sets of sampling values, as files, and the models that they are used with."""
