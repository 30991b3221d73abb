"""Files of rows: where they are stored, how they are written and read, and what they say."""
