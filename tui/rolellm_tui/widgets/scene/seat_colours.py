"""One calm colour for each seat of a scene, from the theme."""

from rolellm_agents.scene import NARRATOR, LoadedScene

COLOURS = ("primary", "success", "accent", "error", "secondary", "warning")
"""Of themes, in the order of the cast; with more than six seats they begin again."""
MUTED = "$foreground-muted"
"""$text-muted has a meaning in style sheets alone: its colour depends on what lies behind it."""


def colours_of(scene: LoadedScene) -> dict[str, str]:
    """Each seat's colour, as one of `COLOURS`."""
    return {seat: COLOURS[place % len(COLOURS)] for place, seat in enumerate(scene.seats)}


def ink(colours: dict[str, str], seat: str) -> str:
    """The style of a seat's name in text; a quiet one for the narrator and for who has no seat."""
    return MUTED if seat == NARRATOR or seat not in colours else f"$text-{colours[seat]}"
