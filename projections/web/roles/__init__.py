"""What each role serves over HTTP: its health, its metrics, and its pages."""
