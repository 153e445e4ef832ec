"""`rolellm judge`: replies, pairs and scenes judged, and judges checked."""
