"""What a table is: its definition, its names, and how a client reads of it."""
