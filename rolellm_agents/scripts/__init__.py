"""Read plays, screenplays, subtitles and novels into one form: speakers, speeches and addressees."""
