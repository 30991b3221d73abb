"""The HTTP of an Iceberg REST catalog: paths, answers, errors, and the users that may change."""
