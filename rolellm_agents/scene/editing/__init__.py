"""Edit a scene's file: the form, and the document that is saved."""
