"""Arrow: the types, schemas and values of rows, as callers give them and as tables store them."""
