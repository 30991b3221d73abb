"""What is known of the rows that a statement writes: where copies are, and values of new ones."""
