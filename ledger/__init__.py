"""Transaction manager of a data lake, built as an event-sourced ledger on Kafka."""
