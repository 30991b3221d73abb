"""What Spark writes: rows added, replaced and changed, and what is checked of them."""
