"""Edit a persona's file: the form, the document with its drafts, and the text that is saved."""
