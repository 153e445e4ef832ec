"""Settings that determine llama.cpp's speed on a machine, and their calibration."""
