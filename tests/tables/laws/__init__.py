"""Laws of tables: random histories of statements, against a model in plain Python."""
