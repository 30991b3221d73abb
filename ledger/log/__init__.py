"""The log that events live in: its port, its records on the wire, Kafka and memory behind it."""
