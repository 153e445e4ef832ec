"""Checks of replies without a model: labels for faults, and named detections."""
