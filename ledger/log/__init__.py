"""The log: its port, the wire format, and the adapters for Kafka and memory."""
