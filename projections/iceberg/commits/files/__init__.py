"""Files of a commit: what a client has written, and what becomes of it in the log."""
