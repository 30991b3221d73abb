"""Valid lists: the ids a reader may see, their text form, and their computation."""
