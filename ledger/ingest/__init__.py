"""Topics into tables: records of Kafka become rows, each of them once."""
