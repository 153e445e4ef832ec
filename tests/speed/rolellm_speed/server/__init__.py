"""The server measured: against llama.cpp's own with the same weights and prompts, and in a long soak."""
