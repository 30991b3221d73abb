"""Tests of the ledger as a catalog of Spark SQL."""
