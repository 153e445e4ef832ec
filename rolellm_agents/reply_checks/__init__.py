"""What can be said of a reply without a model: labels for faults, and detections by name."""
