"""Plans of scans: what a client asks of them, and the files that they list."""
