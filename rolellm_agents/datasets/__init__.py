"""The format of RoleBench (arXiv 2310.00746): questions to roles, with answers to compare replies with."""

from rolellm_agents.datasets.layout import find_file
from rolellm_agents.datasets.reading import read_samples
from rolellm_agents.datasets.sample import Kind, Part, Sample, Split

__all__ = ["Kind", "Part", "Sample", "Split", "find_file", "read_samples"]
