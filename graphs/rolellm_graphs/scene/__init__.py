"""The scene graph, the stage that drives it, and functions that play, replay and compare scenes."""
