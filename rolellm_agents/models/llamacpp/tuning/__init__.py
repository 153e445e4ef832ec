"""The settings that decide llama.cpp's speed on a machine, and how they are measured."""
