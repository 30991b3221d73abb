"""The forms of Apache Iceberg: types, schemas, specs, statistics, and the files of its metadata."""
