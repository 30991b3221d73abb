"""Partitions and paths: one key for every spelling of one partition or file."""
