"""Valid lists: what a reader may see, their text, and how they come about."""
