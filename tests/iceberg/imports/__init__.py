"""Tests of imports of Iceberg tables, against pyiceberg's own reading of them."""
