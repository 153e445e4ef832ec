"""A role of a play, film or novel as a persona."""
