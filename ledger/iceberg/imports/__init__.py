"""Imports of Iceberg tables: what their metadata files say, and the txns that it becomes."""
