"""The server of HTTP: connections, gates, tokens, and bounds on what one client may use."""
