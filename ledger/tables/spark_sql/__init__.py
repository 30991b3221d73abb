"""Spark SQL as DuckDB evaluates it: conditions and values over the columns of a table.

Every form has Spark's meaning in ANSI mode. A form whose result could differ is refused by name.
"""
