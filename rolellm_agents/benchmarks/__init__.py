"""Readers of published benchmarks' files. Nothing of the benchmarks is part of this project.

Each module reads one benchmark as it was published and names its paper and license.
"""
