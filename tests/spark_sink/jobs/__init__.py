"""Jobs of Spark beside each other on one table, which are killed at any time."""
