"""Everything a terminal shows: the `rolellm` command and the app."""
