"""The HTTP of an Iceberg REST catalog: its paths, its answers, its errors, and who may change."""
