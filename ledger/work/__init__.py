"""The work of a txn until its commit: what it read, wrote and noted."""
