"""The parts of the persona editor."""
