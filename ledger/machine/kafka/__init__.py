"""The embedded Kafka: its Java, its libraries and its folder."""
