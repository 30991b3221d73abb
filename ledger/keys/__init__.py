"""Keys of encrypted rows in the log: where they lie, what they seal, and reads that open it."""
