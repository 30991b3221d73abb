"""Spark as a client of the ledger: the feeder, the data source, the writer and the committer."""
