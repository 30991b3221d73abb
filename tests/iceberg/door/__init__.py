"""The HTTP of the Iceberg catalog: a real server in the process of the test, plain requests."""
