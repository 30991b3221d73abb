"""Whole ledgers of real processes on a real broker: killed, paused, restarted, and audited."""
