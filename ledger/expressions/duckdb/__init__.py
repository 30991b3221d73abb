"""Spark SQL as DuckDB evaluates it: conditions and values over the columns of a table."""
