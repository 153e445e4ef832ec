"""Benchmarks of the server: a comparison with llama.cpp's own server, and a soak test."""
