"""`rolellm scene`: play, run, replay, compare and export scenes."""
