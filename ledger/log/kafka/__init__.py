"""The log in Kafka: clients, topics, rights, and the meaning of Kafka's errors."""
