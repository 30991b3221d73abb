"""Metadata: the files of a table that clients of Iceberg open, and their names."""
