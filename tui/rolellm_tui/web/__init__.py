"""`rolellm chat --web`: the app in a browser."""
