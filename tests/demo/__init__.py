"""The demo: a ledger, its producers, its readers and Spark, with real data and real kills."""
