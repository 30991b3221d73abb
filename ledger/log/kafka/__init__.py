"""The log in Kafka: clients, topics, rights, and what a broker says is wrong."""
