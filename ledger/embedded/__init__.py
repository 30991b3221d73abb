"""What the embedded Kafka is made of: its folder, a Java runtime, and where jars come from."""
