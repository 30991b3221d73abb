"""What Spark reads: files, versions, changes, and tables about tables."""
