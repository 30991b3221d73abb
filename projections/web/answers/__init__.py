"""Answers of HTTP: the reads of a ledger, a schema registry, and a Unity Catalog."""
