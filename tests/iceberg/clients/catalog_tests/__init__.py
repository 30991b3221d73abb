"""Iceberg's own tests of a catalog, run against the one of a ledger in memory.

`python -m tests.iceberg.clients.catalog_tests --jars DIR` needs a Java development kit, and Maven
where DIR has no jars yet.
"""
