"""The metadata cache: what entries hold of tables, what feeds them, and what readers are told."""
