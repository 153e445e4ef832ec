"""Plays, screenplays, subtitles and novels, read into one form: who says what to whom."""
