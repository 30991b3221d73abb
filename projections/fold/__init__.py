"""The fold: events in, one batch of rows out."""
