"""Backup and restore: laws over histories, interruptions and damage, and runs on a real Kafka."""
