"""The scene graph, the stage that drives it, and what plays, replays and compares scenes."""
