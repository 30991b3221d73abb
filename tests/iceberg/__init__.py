"""Tests of what the ledger makes of Apache Iceberg's forms."""
