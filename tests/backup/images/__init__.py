"""Images of rows in a backup."""
