"""The metadata cache: entries of tables, what feeds them, and the answers to readers."""
