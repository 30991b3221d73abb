"""Recorded workloads of other systems, replayed as transactions of concurrent streams."""
