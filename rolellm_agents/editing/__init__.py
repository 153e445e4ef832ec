"""Edit users' files: forms, their history, drafts, and saves that keep what others have written."""
