"""The Iceberg REST catalog with unchanged clients: pyiceberg, DuckDB and Spark."""
