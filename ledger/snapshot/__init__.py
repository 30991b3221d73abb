"""A table as one reader sees it: its files at a position, scans, changes and SQL."""
