"""The processes of the demo, and what is checked of their log."""
