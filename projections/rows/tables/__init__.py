"""Rows of tables: what they are, their files, versions and partitions."""
