"""What a notifier says, to whom, and how often."""
