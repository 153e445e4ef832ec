"""Create a persona from a role of a play, film or novel."""
